// How the times to the first token were spread, over the time that is shown.

import { useState } from "../vendor/hooks.js";
import { count, duration, shapeOf } from "../parts/format.js";
import { html } from "../parts/html.js";
import { TTFT } from "../state/measures.js";
import { quantile } from "../state/ring.js";
import { ring, shown } from "../state/samples.js";

const LEAST_BUCKETS = 9;

export function Spread() {
  const [isTable, setTable] = useState(false);
  const { start, stop } = shown.value;
  const buckets = around(ring.spread(TTFT, start, stop - 1));
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  const requests = `${count(total)} ${total === 1 ? "request" : "requests"}`;
  const most = Math.max(1, ...buckets.map((bucket) => bucket.count));
  const marks = [[0.5, "p50"], [0.95, "p95"]].map(([share, label]) => ({ label: String(label), value: quantile(buckets, Number(share)) }));
  return html`<section class="card spread" aria-label="First token, spread">
    <header>
      <h2>First token, spread</h2>
      <span class="quiet" key=${shapeOf(requests)}>${requests}</span>
      <button type="button" class="link" aria-label=${`First token, spread, as a ${isTable ? "picture" : "table"}`} onClick=${() => setTable(!isTable)}>${isTable ? "Picture" : "Table"}</button>
    </header>
    ${isTable
      ? html`<div class="scroll lines" tabindex="0" role="region" aria-label="Buckets"><table>
          <thead><tr><th scope="col">Up to</th><th scope="col" class="number">Requests</th></tr></thead>
          <tbody>${buckets.map(({ bound, count: number }) => html`<tr key=${bound}><td>${words(bound)}</td><td class="number" key=${shapeOf(count(number))}>${count(number)}</td></tr>`)}</tbody>
        </table></div>`
      : html`<div class="bars" role="img" aria-label=${total ? `${count(total)} requests; ${marks.map(({ label, value }) => `${label} about ${duration(value)}`).join(", ")}` : "no request in this time"}>
          ${buckets.map(({ bound, count: number }, at) => html`<div class="bucket" key=${`${at} of ${buckets.length}: ${bound}`} title=${`up to ${words(bound)}: ${count(number)}`}>
            <div class="column"><span style=${{ transform: `scaleY(${number / most})`, opacity: 0.4 + (0.6 * number) / most }} data-empty=${number === 0}></span></div>
            <span class="bound">${bound === Infinity ? "more" : short(bound)}</span>
          </div>`)}
          ${total > 0 && marks.map(({ label, value }) => html`<${Mark} key=${label} label=${label} at=${place(buckets, value)} />`)}
        </div>`}
    <p class="quiet foot">${total > 0 ? marks.map(({ label, value }) => `${label} ≈ ${duration(value)}`).join(" · ") : "No request in this time."}</p>
  </section>`;
}

/** The word slides along the line, so that it stays inside at both ends. @param {{label: string, at: number}} properties */
function Mark({ label, at }) {
  return html`<div class=${`quantile ${label}`} style=${{ transform: `translateX(${100 * at}%)` }}><span style=${{ transform: `translateX(${-100 * at}%)` }}>${label}</span></div>`;
}

/** Without the empty ends, but for one bucket at each, and for a few where there is hardly any. @param {{bound: number, count: number}[]} all */
function around(all) {
  const first = Math.max(0, all.findIndex((bucket) => bucket.count > 0) - 1);
  const last = Math.min(all.length - 1, Math.max(first + LEAST_BUCKETS - 1, all.findLastIndex((bucket) => bucket.count > 0) + 1));
  const from = Math.max(0, Math.min(first, last - LEAST_BUCKETS + 1));
  return all.slice(from, last + 1);
}

/** Where a time is across the columns, 0 to 1. @param {{bound: number}[]} buckets @param {number} value */
function place(buckets, value) {
  const at = buckets.findIndex(({ bound }) => value <= bound);
  if (at < 0) return 1;
  const low = at > 0 ? buckets[at - 1].bound : 0;
  const high = buckets[at].bound;
  const inside = high === Infinity ? 0 : (value - low) / (high - low);
  return (at + inside) / buckets.length;
}

/** @param {number} bound */
function words(bound) {
  return bound === Infinity ? "more" : `${short(bound)} s`;
}

/** @param {number} bound */
function short(bound) {
  return String(bound).replace(/^0\./, ".");
}
