// Which of its siblings a turn is, and the way to the others.

import { html } from "../parts/html.js";
import { go } from "../router.js";
import { Icon } from "../shell/icons.js";
import { pathTo, siblingsOf, turns } from "../state/tree.js";
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
    ${turn.record.role === "assistant" && html`<button type="button" class="icon-button wide compare-these" aria-label="Compare these" title="Compare these answers" onClick=${() => compare(turn, all)}><${Icon} name="compare" /></button>`}
  </span>`;
}

/** Opens the answers beside each other. @param {import("../state/turn.js").Turn} turn @param {import("../state/turn.js").Turn[]} all */
export async function compare(turn, all) {
  const { compareTurns } = await import("../state/compare.js");
  go("compare", await compareTurns(pathTo(turns.value, turn.record.parent), all));
}
