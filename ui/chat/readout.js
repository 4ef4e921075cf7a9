// What an answer took, in one line.

import { html } from "../parts/html.js";
import { panelTab, showBeside } from "../state/session.js";
import { lookAt } from "../state/tree.js";
import { rateOf } from "../state/turn.js";

/** @param {number} ms */
export function duration(ms) {
  return ms < 1000 ? `${(ms / 1000).toFixed(2)} s` : `${(ms / 1000).toFixed(1)} s`;
}

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Readout({ turn }) {
  const { record } = turn;
  const { times, usage, timings, finish, seed } = record;
  const rate = rateOf(record);
  const cached = usage?.prompt_tokens ? Math.round((100 * (usage.prompt_tokens_details?.cached_tokens ?? 0)) / usage.prompt_tokens) : 0;
  const parts = [];
  // For which a phone has no room.
  const rest = [];
  if (timings?.queued_ms >= 50) parts.push(`waited ${duration(timings.queued_ms)}`);
  if (times.first !== null) parts.push(html`${duration(times.first - times.sent)}<span class="wide"> to first token</span>`);
  if (rate) parts.push(`${rate.toFixed(rate < 10 ? 1 : 0)} tok/s`);
  const unit = usage?.completion_tokens === 1 ? " token" : " tokens";
  if (usage) parts.push(html`${usage.isCounted ? "≈ " : ""}${usage.completion_tokens.toLocaleString("en")}<span class=${usage.isCounted ? "wide" : ""}>${unit}</span>`);
  if (finish && finish !== "stop") rest.push(finish.replaceAll("_", " "));
  if (cached) rest.push(`${cached} % cached`);
  if (seed !== null) rest.push(`seed ${seed}`);
  return html`<button type="button" class="readout" title="What this answer took" onClick=${() => show(turn)}>${parts.map((part) => html`<span class="figure">${part}</span>`)}${rest.map((part) => html`<span class="figure wide">${part}</span>`)}</button>`;
}

/** In the panel, as a request and an answer too where these were open. @param {import("../state/turn.js").Turn} turn */
function show(turn) {
  lookAt(turn);
  if (panelTab.value === "settings") panelTab.value = "turn";
  showBeside("panel", true);
}
