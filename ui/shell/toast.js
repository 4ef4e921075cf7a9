// What was done last, and the way back from it.

import { html } from "../parts/html.js";
import { undo, undoable } from "../state/session.js";

export function Toast() {
  if (!undoable.value) return null;
  return html`<div class="toast">
    <span>${undoable.value.text}</span>
    <button type="button" class="link" id="undo" onClick=${undo}>Undo</button>
  </div>`;
}
