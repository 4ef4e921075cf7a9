// What all tasks took together: how many are done, what was read only once, and how long it was by the clock.

import { count } from "../parts/format.js";
import { html } from "../parts/html.js";
import { seconds } from "../parts/lane-words.js";
import { useTicks } from "../parts/ticks.js";
import { open, totals } from "../state/agents.js";
import { clock } from "../state/turn.js";

export function Totals() {
  const series = open.value;
  const lanes = series.lanes.value;
  const isRunning = series.isRunning.value;
  useTicks(isRunning);
  const states = lanes.map((lane) => lane.turn.value?.state.value);
  const { prompt, cached, written, began, ended } = totals(series);
  const numDone = states.filter((state) => state === "DONE").length;
  const wall = began === null || ended === null ? null : (isRunning ? clock() : ended) - began;
  return html`<footer class="totals" aria-label="All tasks together">
    <span><strong>${numDone}</strong> of ${lanes.length} done</span>
    <span title="Prompt tokens of all tasks; those from the cache were not read again">shared prefix read once: <strong>${count(cached)}</strong> of ${count(prompt)} tokens from the cache</span>
    <span><strong>${count(written)}</strong> written</span>
    <span class="wall"><strong>${wall === null ? "0.0 s" : seconds(wall)}</strong> by the clock</span>
  </footer>`;
}
