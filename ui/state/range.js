// Which numbers the fields of a request take, and what is said of one that they do not.

import { biasOf, problem } from "./held.js";
import { BUDGET, OFFERED } from "./offered.js";
import { fields } from "./server.js";

/** @typedef {{minimum?: number, above?: number, maximum?: number, type?: string}} Range above: what it must be more than */

/** What is wrong with a number, in words; "" for nothing. @param {number | string | undefined} value @param {Range | undefined} range */
export function rangeProblem(value, range) {
  if (typeof value === "string") return value.includes(",") ? "Decimals have a point: 1.5" : "Not a number";
  if (value === undefined || !range) return "";
  const { minimum = -Infinity, above = -Infinity, maximum = Infinity, type } = range;
  if (value < minimum || value <= above || value > maximum) return rangeWords(range);
  if (type !== "integer" || Number.isSafeInteger(value)) return "";
  return Number.isInteger(value) ? "Too large a number" : "A whole number";
}

/** @param {Range} range */
export function rangeWords({ minimum, above, maximum }) {
  const [low, over, high] = [minimum, above, maximum].map((each) => each?.toLocaleString("en", { maximumFractionDigits: 2 }));
  if (over) return `More than ${over}${high ? `, ${high} at most` : ""}`;
  if (low && high) return `From ${low} to ${high}`;
  return low ? `${low} or more` : high ? `${high} or less` : "";
}

/** What is wrong with what an answer stops at; "" for nothing. @param {string | string[]} [stops] */
export function stopProblem(stops = []) {
  const { maxItems: most = Infinity } = fields.value.get("stop") ?? {};
  // One text alone may stand for itself.
  return Array.isArray(stops) && stops.length > most ? `${most} at most, not ${stops.length}` : "";
}

/** What is wrong with the first of a request's numbers that is wrong, or with what is added to its logits; "" for none. @param {Record<string, any>} values */
export function problemIn(values) {
  for (const { name, label } of [...OFFERED, BUDGET]) {
    const words = rangeProblem(values[name], fields.value.get(name));
    if (words) return `${label}: ${words}`;
  }
  const { logit_bias: bias, stop } = values;
  const words = stopProblem(stop);
  if (words) return `Stop at: ${words}`;
  return typeof bias === "string" ? `Logit bias: ${problem(() => biasOf(bias))}` : "";
}
