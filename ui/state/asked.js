// What the lanes of a comparison ask, and in what they differ.

import { OFFERED } from "./offered.js";

/** @typedef {import("./lane.js").Lane} Lane */
/** @typedef {import("./series.js").Series} Series */
/** @typedef {Record<string, any>} Values by the names of the request's fields, and "system" */

const ORDER = ["model", "system", "reasoning_effort", "thinking_budget", ...OFFERED.map(({ name }) => name)];

/** All that a lane asks. @param {Series} series @param {Lane} lane @returns {Values} */
export function valuesOf(series, lane) {
  return { ...series.values.value, ...lane.values.value };
}

/**
 * The names of what is not the same in all lanes, in the panel's order.
 * @param {Series} series
 */
export function varied(series) {
  const all = series.lanes.value.map((lane) => valuesOf(series, lane));
  const names = new Set(all.flatMap((values) => Object.keys(values)));
  const differing = [...names].filter((name) => all.some((values) => !isEqual(values[name], all[0][name])));
  return differing.sort((one, other) => place(one) - place(other));
}

/** Whether two lanes ask the same, so that they must answer the same. @param {Series} series @param {Lane} one @param {Lane} other */
export function askTheSame(series, one, other) {
  return isEqual(sorted(requestFor(series, one)), sorted(requestFor(series, other)));
}

/** Whether a lane's answer is to something else than it asks by now. @param {Series} series @param {Lane} lane */
export function isStale(series, lane) {
  const request = lane.turn.value?.record.request;
  return Boolean(request) && !isEqual(sorted(request), sorted(requestFor(series, lane)));
}

/** @param {Series} series @param {Lane} lane */
export function requestFor(series, lane) {
  const { system = "", ...fields } = valuesOf(series, lane);
  const messages = [...series.history.value, { role: "user", content: series.prompt.value.trim() }, ...series.after];
  if (system.trim()) messages.unshift({ role: "system", content: system });
  return { messages, ...fields };
}

// --- Internal

/** @param {string} name */
function place(name) {
  const at = ORDER.indexOf(name);
  return at < 0 ? ORDER.length : at;
}

/** @param {unknown} one @param {unknown} other */
function isEqual(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** @param {Record<string, unknown>} request */
function sorted(request) {
  return Object.entries(request).sort(([one], [other]) => (one < other ? -1 : 1));
}
