// A component whose modules come when it is first shown, and not with the page.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "./html.js";

/** @typedef {import("../vendor/preact.js").ComponentType<any>} Part */

/** A server that is away for a moment is asked again. */
const PAUSES_MS = [500, 1500, 4000];

/** Returns a component that shows nothing until the part is here; one that does not come fails as it would itself. @param {() => Promise<Part>} load */
export function later(load) {
  /** @type {Part | null} */
  let part = null;
  return function Later(/** @type {Record<string, any>} */ properties) {
    const [Found, setFound] = useState(() => part);
    const [failure, setFailure] = useState(/** @type {unknown} */ (null));
    useEffect(() => {
      if (Found) return;
      patient(load).then((found) => ((part = found), setFound(() => found)), setFailure);
    }, []);
    if (failure) throw failure;
    return Found && html`<${Found} ...${properties} />`;
  };
}

/** @param {() => Promise<Part>} load @returns {Promise<Part>} */
async function patient(load) {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await load();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return load();
}
