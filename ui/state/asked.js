// What the lanes of a comparison ask, and in what they differ.

import { contentOf } from "./content.js";
import { formOf, isForm } from "./held.js";
import { OFFERED } from "./offered.js";

/** @typedef {import("./lane.js").Lane} Lane */
/** @typedef {import("./series.js").Series} Series */
/** @typedef {Record<string, any>} Values by the names of the request's fields, and "system" */

const ORDER = ["model", "system", "reasoning_effort", "thinking_budget", ...OFFERED.map(({ name }) => name)];

/** All that a lane asks. A form of its own takes the place of the one that all have, whichever field says it. @param {Series} series @param {Lane} lane @returns {Values} */
export function valuesOf(series, lane) {
  const own = lane.values.value;
  return { ...(Object.keys(own).some(isForm) ? withoutForm(series.values.value) : series.values.value), ...own };
}

/** @param {Values} values @returns {Values} */
export function withoutForm(values) {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !isForm(name)));
}

/**
 * The names of what is not the same in all lanes, in the panel's order; the form of the answer is one, by its first field.
 * @param {Series} series
 */
export function varied(series) {
  const all = series.lanes.value.map((lane) => compared(valuesOf(series, lane)));
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
  const { request, model } = lane.turn.value?.record ?? {};
  const wanted = requestFor(series, lane);
  // Who named no model was answered by what served.
  return Boolean(request) && !isEqual(sorted({ ...(wanted.model && { model }), ...request }), sorted(wanted));
}

/** @param {Series} series @param {Lane} lane @returns {Record<string, any>} */
export function requestFor(series, lane) {
  const { system = "", ...values } = valuesOf(series, lane);
  const messages = [...series.history.value, { role: "user", content: contentOf({ text: series.prompt.value.trim(), attachments: series.pictures }) }, ...series.after];
  if (system.trim()) messages.unshift({ role: "system", content: system });
  // A lane may say that it has none of what others have.
  const fields = Object.entries(values).filter(([name, value]) => !isEmpty(value) && !(name === "tool_choice" && isEmpty(values.tools)));
  return { messages, ...Object.fromEntries(fields) };
}

// --- Internal

/** @param {string} name */
function place(name) {
  const at = ORDER.indexOf(name);
  return at < 0 ? ORDER.length : at;
}

/** Those values as they are told apart. @param {Values} values @returns {Values} */
function compared(values) {
  const all = Object.entries(withoutForm(values)).filter(([, value]) => !isEmpty(value));
  return { ...Object.fromEntries(all), response_format: formOf(values) };
}

/** Whether that is as good as nothing. @param {any} value */
function isEmpty(value) {
  return ["", undefined, "[]", "{}", '{"type":"text"}'].includes(value === "" ? "" : JSON.stringify(value));
}

/** @param {unknown} one @param {unknown} other */
function isEqual(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** @param {Record<string, unknown>} request */
function sorted(request) {
  return Object.entries(request).sort(([one], [other]) => (one < other ? -1 : 1));
}
