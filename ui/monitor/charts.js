// Which charts there are, and what each of their lines reads.

import { bytes, count, duration, durationUpTo } from "../parts/format.js";
import { html } from "../parts/html.js";
import { DERIVED } from "../state/measures.js";
import { ring } from "../state/samples.js";
import { ChartCard } from "./chart.js";

/** @param {string} key */
const of = (key) => (/** @type {number} */ index) => ring.at(key, index);
/** @param {string} key */
const rate = (key) => (/** @type {number} */ index) => ring.rate(key, index);

/** @param {number} value */
const few = (value) => count(value, value > 0 && value < 10 ? 1 : 0);

/** @typedef {import("./chart.js").Chart} Chart */
/** @type {Record<string, Chart[]>} */
const CHARTS = {
  first: [
    {
      title: "Tokens each second",
      words: count,
      least: 3,
      lines: [
        { label: "decode", colour: 1, read: of(DERIVED.decodeRate) },
        { label: "prefill ÷ 10", colour: 2, read: (index) => ring.at(DERIVED.prefillRate, index) / 10, isFilled: true },
      ],
    },
    {
      title: "First token",
      words: duration,
      axis: durationUpTo,
      lines: [
        { label: "≈ p50", colour: 1, read: of(DERIVED.ttftHalf) },
        { label: "≈ p95", colour: 4, read: of(DERIVED.ttftMost), isDashed: true },
      ],
    },
    {
      title: "Requests",
      words: count,
      least: 3,
      lines: [
        { label: "running", colour: 1, read: of('ignis_scheduler_requests{state="running"}'), isFilled: true },
        { label: "waiting", colour: 2, read: of('ignis_scheduler_requests{state="waiting"}') },
      ],
    },
  ],
  pages: [
    {
      title: "KV pages",
      words: count,
      least: 3,
      lines: [
        // One on the other: what is drawn last covers its part of the sum.
        { label: "retained", colour: 3, read: of("ignis_kv_pool_retained_pages"), draw: of("ignis_kv_pool_used_pages"), isFilled: true },
        {
          label: "live",
          colour: 1,
          read: (index) => ring.at("ignis_kv_pool_used_pages", index) - ring.at("ignis_kv_pool_retained_pages", index),
          isFilled: true,
        },
      ],
    },
  ],
  rest: [
    {
      title: "Between tokens",
      words: duration,
      axis: durationUpTo,
      lines: [
        { label: "≈ p50", colour: 1, read: of(DERIVED.gapHalf) },
        { label: "≈ p95", colour: 4, read: of(DERIVED.gapMost), isDashed: true },
      ],
    },
    {
      title: "Prompt tokens",
      words: count,
      least: 3,
      lines: [
        { label: "computed", colour: 1, read: of(DERIVED.computedRate) },
        { label: "from cache", colour: 3, read: of(DERIVED.cachedRate), isFilled: true },
      ],
    },
    {
      title: "Prefix hits each second",
      words: few,
      least: 3,
      lines: [
        { label: "on the device", colour: 1, read: rate('ignis_retained_state_hits_total{tier="device"}'), isFilled: true },
        { label: "in host memory", colour: 2, read: rate('ignis_retained_state_hits_total{tier="kv_ram"}') },
      ],
    },
    {
      title: "Memory in use",
      words: bytes,
      lines: [
        { label: "process", colour: 1, read: of("ignis_process_resident_bytes"), isFilled: true },
        { label: "device", colour: 2, read: of('ignis_device_memory_bytes{state="used"}') },
      ],
    },
    {
      title: "Pages evicted each second",
      words: few,
      least: 3,
      lines: [{ label: "evicted", colour: 1, read: rate("ignis_kv_cache_evictions_total"), isFilled: true }],
    },
    {
      title: "Connections",
      words: count,
      least: 3,
      lines: [
        { label: "open", colour: 1, read: of("ignis_http_connections"), isFilled: true },
        { label: "WebSockets", colour: 2, read: of("ignis_http_websockets") },
      ],
    },
  ],
};

/** @param {{of: keyof typeof CHARTS}} properties */
export function Charts({ of: name }) {
  return html`<div class=${`charts ${name}`}>${CHARTS[name].map((chart) => html`<${ChartCard} key=${chart.title} chart=${chart} />`)}</div>`;
}
