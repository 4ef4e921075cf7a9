// Where the time of a turn went, and its counts.

import { html } from "../parts/html.js";
import { rateOf } from "../state/turn.js";
import { duration } from "./readout.js";

/** Nothing for none. @param {number | undefined} count */
const tokens = (count) => (count ? `${count} ${count === 1 ? "token" : "tokens"}` : null);

/** @param {{turn: import("../state/turn.js").Turn | null}} properties */
export function ThisTurn({ turn }) {
  if (!turn) return html`<section><p class="about">There is no answer yet.</p></section>`;
  turn.state.value;
  const { record } = turn;
  const { times, usage, timings } = record;
  const first = times.first ?? times.sent;
  const text = times.text ?? times.last ?? first;
  const parts = [
    { name: "waited", ms: timings?.queued_ms ?? 0 },
    { name: "read", ms: Math.max(0, first - times.sent - (timings?.queued_ms ?? 0)) },
    { name: "thought", ms: record.reasoning ? text - first : 0 },
    { name: "wrote", ms: Math.max(0, (times.last ?? text) - (record.reasoning ? text : first)) },
  ];
  const total = parts.reduce((sum, part) => sum + part.ms, 0) || 1;
  const rate = rateOf(record);
  const facts = [
    ["Prompt", tokens(usage?.prompt_tokens)],
    ["From cache", usage && !usage.isCounted ? `${usage.prompt_tokens_details?.cached_tokens ?? 0} tokens` : null],
    ["Answer", usage && `${usage.isCounted ? "≈ " : ""}${tokens(usage.completion_tokens) ?? "0 tokens"}`],
    ["Reasoning", tokens(usage?.completion_tokens_details?.reasoning_tokens)],
    ["Rewound", tokens(usage?.completion_tokens_details?.rewound_tokens)],
    ["Rate", rate && `${rate.toFixed(1)} tok/s`],
    ["Finish", record.finish],
    ["Seed", record.seed],
    ["Model", record.model],
    ["When", new Date(record.created).toLocaleString()],
  ];
  return html`<section><h2>Time ${duration(total)}</h2>
    <div class="time-bar" aria-hidden="true">${parts.map(({ name, ms }) => ms > 0 && html`<span class=${name} style=${{ flexGrow: ms / total }}></span>`)}</div>
    <dl>${parts.map(({ name, ms }) => html`<dt><span class=${`swatch ${name}`} aria-hidden="true"></span>${name}</dt><dd>${duration(ms)}</dd>`)}</dl>
  </section>
  <section><h2>Counts</h2>
    <dl>${facts.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
  </section>`;
}
