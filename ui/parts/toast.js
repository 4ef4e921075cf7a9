// What was done last, and the way back from it.

import { useLayoutEffect, useRef } from "../vendor/hooks.js";
import { html } from "./html.js";
import { numModal } from "../state/modal.js";
import { undoable } from "../state/session.js";
import { undo } from "../state/undo.js";

/** @param {{isInside?: boolean}} properties isInside: a dialog */
export function Toast({ isInside = false }) {
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  // It goes with the focus on it: what is undone may take that, else the view does.
  useLayoutEffect(() => () => {
    if (document.activeElement === button.current) requestAnimationFrame(takeFocus);
  }, []);
  const [latest, ...before] = undoable.value;
  if (!latest || numModal.value > 0 !== isInside) return null;
  return html`<div class="toast">
    <span>${latest.text}</span>
    ${before.length > 0 && html`<span class="more">${before.length} before it</span>`}
    <button type="button" class="link" id="undo" ref=${button} onClick=${undo}>Undo</button>
  </div>`;
}

function takeFocus() {
  const place = document.getElementById("prompt") ?? document.querySelector("#view h1");
  if (document.activeElement === document.body) /** @type {HTMLElement | null} */ (place)?.focus();
}
