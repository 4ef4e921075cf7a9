// Whether a part is on the screen: what nobody sees is not drawn.

import { useEffect, useRef, useState } from "../vendor/hooks.js";

/** @returns {[{current: HTMLElement | null}, boolean]} for the part's `ref`, and whether it is seen */
export function useVisible() {
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => setVisible(entries.some((entry) => entry.isIntersecting)), { rootMargin: "64px" });
    if (root.current) observer.observe(root.current);
    return () => observer.disconnect();
  }, []);
  return [root, isVisible];
}
