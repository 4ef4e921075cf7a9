// The last line of a lane: its state, how it differs from the first, and what it took.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { seconds, stateOf } from "../parts/lane-words.js";
import { clock } from "../state/lane.js";
import { rateOf } from "../state/turn.js";

const TICK_MS = 250;

/** @param {{lane: import("../state/lane.js").Lane, letter: string, isStale: boolean}} properties */
export function Foot({ lane, letter, isStale }) {
  const [, tick] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const turn = lane.turn.value;
  const { isRunning } = lane;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => tick((count) => count + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const { word, isSame } = lane.difference.value;
  const [kind, words] = stateOf(lane, isStale);
  const facts = turn ? factsOf(lane, turn.record) : [];
  const short = facts.filter((fact) => fact.short);
  return html`<footer>
    <div class="line">
      <span class=${`tag ${kind}`}>${words}</span>
      ${letter !== "A" && isSame && html`<span class="tag good same">identical to A</span>`}
      ${letter !== "A" && word !== null && html`<span class="from">from word ${word + 1}</span>`}
      ${short.length > 0 && html`<button type="button" class="figures" aria-expanded=${isOpen} aria-label=${`Figures of lane ${letter}`} title=${facts.map(({ name, value }) => `${name}: ${value}`).join("\n")} onClick=${() => setOpen(!isOpen)}>
        ${short.map((fact) => html`<span class="figure">${fact.short}</span>`)}</button>`}
    </div>
    ${isOpen && html`<dl>${facts.map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`}
  </footer>`;
}

/**
 * What an answer took. short: as it stands in the line; "": only in the whole list.
 * @param {import("../state/lane.js").Lane} lane @param {import("../store/turns.js").TurnRecord} record
 * @returns {{name: string, value: string, short: string}[]}
 */
function factsOf(lane, record) {
  const { times, usage, timings, seed, model } = record;
  /** @type {{name: string, value: string, short: string}[]} */
  const found = [];
  const add = (/** @type {string} */ name, /** @type {string} */ value, short = "") => found.push({ name, value, short });
  if (times.first === null && lane.isRunning) add("Since it was sent", seconds(clock() - times.sent), seconds(clock() - times.sent));
  if (timings) add("Waited at the server", seconds(timings.queued_ms));
  if (times.first !== null) add("To the first token", seconds(times.first - times.sent), seconds(times.first - times.sent));
  const rate = rateOf(record);
  if (rate) add("Rate", `${rate.toFixed(1)} tok/s`, `${rate.toFixed(0)} tok/s`);
  const count = usage?.completion_tokens ?? lane.numPieces;
  if (count) add("Wrote", `${count.toLocaleString("en")} tokens`, count.toLocaleString("en"));
  if (usage) add("Prompt", `${usage.prompt_tokens.toLocaleString("en")} tokens, ${(usage.prompt_tokens_details?.cached_tokens ?? 0).toLocaleString("en")} from the cache`);
  if (seed !== null) add("Seed", String(seed));
  if (model) add("Model", model);
  return found;
}
