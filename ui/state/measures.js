// What the monitor reads out of the samples: which series mean what.

import { quantile } from "./ring.js";

/** @typedef {import("./ring.js").Ring} Ring */

/** Samples over which a quantile is taken: a minute. */
const SPREAD_SAMPLES = 30;
/** Samples over which a rate is evened out. */
const RATE_SAMPLES = 3;

/** Names of what is worked out at each sample; no series of a server has a name like these. */
export const DERIVED = {
  decodeRate: "decode tokens/s",
  prefillRate: "prefill tokens/s",
  ttftHalf: "first token p50",
  ttftMost: "first token p95",
  gapHalf: "between tokens p50",
  gapMost: "between tokens p95",
  cachedRate: "cached tokens/s",
  computedRate: "computed tokens/s",
};

export const TTFT = "ignis_request_ttft_seconds";
export const GAP = "ignis_inter_token_seconds";
const PREFIX = "ignis_prefix_reused_tokens_total";
const PROMPT = "ignis_prompt_tokens_total";

/** @param {Ring} ring */
export function addMeasures(ring) {
  const rate = (/** @type {string} */ key) => (/** @type {Ring} */ ring, /** @type {number} */ index) => ring.rate(key, index);
  const half = (/** @type {string} */ name, /** @type {number} */ share) => (/** @type {Ring} */ ring, /** @type {number} */ index) =>
    quantile(ring.spread(name, Math.max(0, index - SPREAD_SAMPLES), index), share);
  ring.derive(DERIVED.decodeRate, rate("ignis_decoded_tokens_total"));
  ring.derive(DERIVED.prefillRate, rate("ignis_prefilled_tokens_total"));
  ring.derive(DERIVED.ttftHalf, half(TTFT, 0.5));
  ring.derive(DERIVED.ttftMost, half(TTFT, 0.95));
  ring.derive(DERIVED.gapHalf, half(GAP, 0.5));
  ring.derive(DERIVED.gapMost, half(GAP, 0.95));
  ring.derive(DERIVED.cachedRate, (ring, index) => cachedKeys(ring).reduce((sum, key) => sum + ring.rate(key, index), 0));
  ring.derive(DERIVED.computedRate, (ring, index) => ring.rate(PROMPT, index) - ring.at(DERIVED.cachedRate, index));
}

/** Tokens a second of late. @param {Ring} ring @param {string} key @param {number} index */
export function evenRate(ring, key, index) {
  let sum = 0;
  let count = 0;
  for (let at = Math.max(0, index - RATE_SAMPLES + 1); at <= index; at += 1) {
    const rate = ring.at(key, at);
    if (Number.isNaN(rate)) continue;
    sum += rate;
    count += 1;
  }
  return count ? sum / count : NaN;
}

/** How many of the prompts' tokens were found in the cache. @param {Ring} ring @param {number} from @param {number} to */
export function fromCache(ring, from, to) {
  const all = ring.growth(PROMPT, from, to);
  const cached = cachedKeys(ring).reduce((sum, key) => sum + ring.growth(key, from, to), 0);
  return { all, cached };
}

/** Prompt tokens that were claimed, whatever tiers this server has. @param {Ring} ring */
export function cachedKeys(ring) {
  return ring.keys.filter((key) => key === PREFIX || key.startsWith("ignis_retained_reused_tokens_total{"));
}
