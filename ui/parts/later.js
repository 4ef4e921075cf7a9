// What comes when it is first shown, and not with the page: components with their modules, and style sheets.

import { useEffect, useState } from "../vendor/hooks.js";
import { effect } from "../vendor/signals-core.js";
import { isOutdated, watch } from "../state/server.js";
import { isConnected } from "../state/session.js";
import { html } from "./html.js";

/** @typedef {import("../vendor/preact.js").ComponentType<any>} Part */

/** Why a part does not come that only another version has. */
export const OUTDATED = "The server was replaced by another version";
/** A server that is away for a moment is asked again. */
const PAUSES_MS = [500, 1500, 4000];

/** Returns a component that shows nothing until the part is here; one that does not come fails as it would itself. ahead: gets it before it is shown. @param {() => Promise<Part>} load */
export function later(load) {
  /** @type {Part | null} */
  let part = null;
  const ahead = async () => (part = await patient(load));
  function Later(/** @type {Record<string, any>} */ properties) {
    const [Found, setFound] = useState(() => part);
    const [failure, setFailure] = useState(/** @type {unknown} */ (null));
    useEffect(() => {
      if (!Found) ahead().then((found) => setFound(() => found), setFailure);
    }, []);
    if (failure) throw failure;
    return Found && html`<${Found} ...${properties} />`;
  }
  return Object.assign(Later, { ahead });
}

/** What did not come is asked for again: after a while, and once the server is back. @template T @param {() => Promise<T>} load @returns {Promise<T>} */
export async function patient(load) {
  for (let numTries = 0; ; numTries += 1) {
    try {
      return await load();
    } catch (error) {
      // That the server is away shows at the next request for its state, which else may be long in coming.
      if (isConnected.value) watch();
      // Another version has not the files of this one.
      if (isOutdated.value) throw new Error(OUTDATED);
      if (!isConnected.value) await whenConnected();
      else if (numTries >= PAUSES_MS.length) throw error;
      else await new Promise((resolve) => setTimeout(resolve, PAUSES_MS[numTries]));
    }
  }
}

/**
 * Fetches a style sheet. Returns once it is there, so that nothing is drawn without it; a second call asks for nothing.
 * @param {string} name a file without its ending, as seen from ui/styles/
 */
export function loadStyle(name) {
  const id = `style-${name}`;
  if (document.getElementById(id)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.id = id;
    link.rel = "stylesheet";
    link.href = new URL(`../styles/${name}.css`, import.meta.url).href;
    link.addEventListener("load", () => resolve(undefined), { once: true });
    link.addEventListener("error", () => (link.remove(), reject(new Error(`${name}.css did not come`))), { once: true });
    document.head.append(link);
  });
}

// --- Internal

/** @returns {Promise<void>} */
function whenConnected() {
  return new Promise((resolve) => {
    const end = effect(() => {
      if (isConnected.value) queueMicrotask(() => (end(), resolve()));
    });
  });
}
