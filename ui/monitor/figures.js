// Six figures: what the server does now, each with what explains it.

import { html } from "../parts/html.js";
import { count, duration, durationParts, shapeOf } from "../parts/format.js";
import { DERIVED, evenRate, fromCache } from "../state/measures.js";
import { ring, shown } from "../state/samples.js";

export function Figures() {
  const { start, stop } = shown.value;
  const last = stop - 1;
  const at = (/** @type {string} */ key) => ring.at(key, last);
  return html`<section class="figures" aria-label="Now">
    <${Lanes} at=${at} />
    <${Waiting} at=${at} start=${start} last=${last} />
    <${Decode} at=${at} last=${last} />
    <${Times} title="First token" half=${at(DERIVED.ttftHalf)} most=${at(DERIVED.ttftMost)} none="no request" />
    <${Times} title="Between tokens" half=${at(DERIVED.gapHalf)} most=${at(DERIVED.gapMost)} none="no token" />
    <${Cache} start=${start} last=${last} />
  </section>`;
}

/** @param {{title: string, value: string, unit?: string, isRough?: boolean, children?: any}} properties */
function Figure({ title, value, unit = "", isRough = false, children }) {
  const isKnown = value !== "–";
  // The unit stands at the number: another one where the number has another width, so that none is moved.
  return html`<div class="card figure-card">
    <h2>${title}</h2>
    <p class="big" key=${shapeOf(value)}>${isRough && isKnown && html`<span class="rough" title="Interpolated in the buckets of a histogram">≈</span>`}<b>${value}</b> <span>${unit}</span></p>
    ${children}
  </div>`;
}

/** @param {{at: (key: string) => number}} properties */
function Lanes({ at }) {
  const decoding = at('ignis_lanes{state="decode"}');
  const reading = at('ignis_lanes{state="prefill"}');
  const capacity = at('ignis_lanes{state="capacity"}');
  const taken = decoding + reading;
  const names = [...Array(Math.min(64, Math.max(0, capacity || 0)))].map((_, lane) => (lane < decoding ? "decode" : lane < taken ? "prefill" : "free"));
  return html`<${Figure} title="Lanes" value=${count(taken)} unit=${capacity > 0 ? `of ${count(capacity)}` : ""}>
    <div class="slots" role="img" aria-label=${`${count(decoding)} decode, ${count(reading)} prefill, ${count(capacity - taken)} free`}
      title=${`${count(decoding)} decode, ${count(reading)} prefill, ${count(capacity - taken)} free`}>
      ${names.map((name, lane) => html`<span key=${lane} class=${`slot ${name}`}></span>`)}
    </div>
  <//>`;
}

/** @param {{at: (key: string) => number, start: number, last: number}} properties */
function Waiting({ at, start, last }) {
  // Those that are held until their model serves have not come to the scheduler yet.
  const waiting = at('ignis_scheduler_requests{state="waiting"}') + at("ignis_model_waiting_requests");
  const oldest = Math.max(at('ignis_oldest_waiting_seconds{for="admission"}'), at('ignis_oldest_waiting_seconds{for="model"}'));
  const refused = ring.growth('ignis_requests_rejected_total{reason="full"}', start, last);
  const age = waiting > 0 && Number.isFinite(oldest) ? `oldest ${duration(oldest)}` : "";
  const no = Number.isFinite(refused) ? (refused > 0 ? `${count(refused)} refused` : "none refused") : "";
  return html`<${Figure} title="Waiting" value=${count(waiting)}>
    <p class="quiet" key=${shapeOf(age)}>${age}${no && (age ? html`<span class="wide"> · ${no}</span>` : no)}</p>
  <//>`;
}

/** @param {{at: (key: string) => number, last: number}} properties */
function Decode({ at, last }) {
  const rate = evenRate(ring, DERIVED.decodeRate, last);
  const lanes = at('ignis_lanes{state="decode"}');
  return html`<${Figure} title="Decode" value=${count(rate)} unit="tok/s">
    <p class="quiet">${lanes > 1 && rate > 0 ? `${count(rate / lanes)} each lane` : lanes === 1 ? "one lane" : "no lane decodes"}</p>
  <//>`;
}

/** @param {{title: string, half: number, most: number, none: string}} properties */
function Times({ title, half, most, none }) {
  const [value, unit] = durationParts(half);
  return html`<${Figure} title=${title} value=${value} unit=${unit} isRough><p class="quiet">${Number.isFinite(most) ? `p95 ≈ ${duration(most)}` : html`${none}<span class="wide"> for a minute</span>`}</p><//>`;
}

/** @param {{start: number, last: number}} properties */
function Cache({ start, last }) {
  const { all, cached } = fromCache(ring, start, last);
  return html`<${Figure} title="From cache" value=${all > 0 ? count((100 * cached) / all) : "–"} unit=${all > 0 ? "%" : ""}>
    <p class="quiet" key=${shapeOf(`${count(cached)} of ${count(all)}`)}>${all > 0 ? html`${count(cached)}<span class="wide"> of ${count(all)}</span> tokens` : html`no prompt<span class="wide"> in this time</span>`}</p>
  <//>`;
}
