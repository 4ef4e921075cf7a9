// What all tasks took together: how many are done, what was read only once, and how long it was by the clock.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { seconds } from "../parts/lane-words.js";
import { open, totals } from "../state/agents.js";
import { clock } from "../state/turn.js";

const TICK_MS = 250;

export function Totals() {
  const [, tick] = useState(0);
  const series = open.value;
  const lanes = series.lanes.value;
  const isRunning = series.isRunning.value;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => tick((count) => count + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const states = lanes.map((lane) => lane.turn.value?.state.value);
  const { prompt, cached, written, began, ended } = totals(series);
  const numDone = states.filter((state) => state === "DONE").length;
  const number = (/** @type {number} */ value) => value.toLocaleString("en");
  const wall = began === null || ended === null ? null : (isRunning ? clock() : ended) - began;
  return html`<footer class="totals" aria-label="All tasks together">
    <span><strong>${numDone}</strong> of ${lanes.length} done</span>
    <span title="Prompt tokens of all tasks; those from the cache were not read again">shared prefix read once: <strong>${number(cached)}</strong> of ${number(prompt)} tokens from the cache</span>
    <span><strong>${number(written)}</strong> written</span>
    <span class="wall"><strong>${wall === null ? "0.0 s" : seconds(wall)}</strong> by the clock</span>
  </footer>`;
}
