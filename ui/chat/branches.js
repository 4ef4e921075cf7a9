// Which of its siblings a turn is, and the way to the others.

import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";
import { siblingsOf, turns } from "../state/tree.js";
import { step } from "./acts.js";

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Branches({ turn }) {
  const all = siblingsOf(turns.value, turn);
  if (all.length < 2) return null;
  const at = all.findIndex((other) => other.id === turn.id);
  return html`<span class="branches">
    <button type="button" class="icon-button" aria-label="Earlier version" disabled=${at === 0} onClick=${() => step(turn, -1)}><${Icon} name="left" /></button>
    ${at + 1} / ${all.length}
    <button type="button" class="icon-button" aria-label="Later version" disabled=${at === all.length - 1} onClick=${() => step(turn, 1)}><${Icon} name="right" /></button>
  </span>`;
}
