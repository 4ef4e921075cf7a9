// The last line of a lane: its state, how it differs from the first, and what it took.

import { useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { factsOf, liveRate, stateOf } from "../parts/lane-words.js";
import { useTicks } from "../parts/ticks.js";
import { clock } from "../state/turn.js";

/** @param {{lane: import("../state/lane.js").Lane, letter: string, isStale: boolean}} properties */
export function Foot({ lane, letter, isStale }) {
  const [isOpen, setOpen] = useState(false);
  const turn = lane.turn.value;
  const { isRunning } = lane;
  useTicks(isRunning);
  const { word, isSame } = lane.difference.value;
  const [kind, words] = tagOf(lane, isStale);
  const facts = turn ? factsOf(lane, turn.record) : [];
  const short = facts.filter((fact) => fact.short);
  return html`<footer>
    <div class="line">
      <span class=${`tag ${kind}`}>${words}</span>
      ${letter !== "A" && isSame && html`<span class="tag good same">equal to A</span>`}
      ${letter !== "A" && word !== null && html`<span class="where">from word ${word + 1}</span>`}
      ${short.length > 0 && html`<button type="button" class="figures" aria-expanded=${isOpen} title=${facts.map(({ name, value }) => `${name}: ${value}`).join("\n")} onClick=${() => setOpen(!isOpen)}>
        ${short.map((fact) => html`<span class="figure">${fact.short}</span>`)}</button>`}
    </div>
    ${isOpen && html`<dl>${facts.map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`}
  </footer>`;
}

/** Kind of tag and words: what runs says how fast. @param {import("../state/lane.js").Lane} lane @param {boolean} isStale @returns {[string, string]} */
function tagOf(lane, isStale) {
  const turn = lane.turn.value;
  const [kind, words] = stateOf(lane);
  const rate = liveRate(lane);
  if (words === "writing" && rate) return [kind, `${rate.toFixed(0)} tok/s`];
  if (words === "thinking" && turn) return [kind, `thinking ${((clock() - (turn.record.times.first ?? turn.record.times.sent)) / 1000).toFixed(1)} s`];
  return isStale && turn?.state.value === "DONE" ? ["warn", "changed since"] : [kind, words];
}
