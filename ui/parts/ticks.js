// What is drawn anew from time to time, for as long as it changes with the clock.

import { useEffect, useState } from "../vendor/hooks.js";

/** @param {unknown} isOn @param {number} [ms] */
export function useTicks(isOn, ms = 250) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => tick((count) => count + 1), ms);
    return () => clearInterval(timer);
  }, [isOn]);
}
