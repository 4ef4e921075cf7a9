// What a lane asks, field by field, in words.

import { formOf } from "../state/held.js";
import { FURTHER, OFFERED } from "../state/offered.js";

/** @typedef {import("../state/asked.js").Values} Values */

const LABELS = new Map([["model", ""], ["seed", ""], ["reasoning_effort", "thinking"], ["max_completion_tokens", "max"], ...[...OFFERED.slice(0, 7), ...FURTHER].map(({ name, label }) => /** @type {[string, string]} */ ([name, label.toLowerCase()]))]);
const NONE = new Map([["system", "none"], ["tools", "none"], ["logit_bias", "none"], ["stop", "nothing"]]);
const MOST_LETTERS = 24;

/** A field's name and value as a person says them. @param {string} name @param {Values} values */
export function inWords(name, values) {
  if (name === "response_format") return formInWords(values);
  return { label: LABELS.get(name) ?? name.replaceAll("_", " "), words: wordsOf(name, values[name]) };
}

/** @param {string} words */
export function shortened(words) {
  return words.length > MOST_LETTERS ? `${words.slice(0, MOST_LETTERS)}…` : words;
}

// --- Internal

/** @param {Values} values */
function formInWords(values) {
  const { format, text } = formOf(values);
  const schema = values.response_format?.json_schema?.schema;
  if (format === "text" || format === "json") return { label: "output", words: format === "json" ? "JSON" : "text" };
  return { label: format, words: typeof schema === "object" ? JSON.stringify(schema) : text.trim().replaceAll("\n", format === "choice" ? " | " : " ") };
}

/** @param {string} name @param {any} value */
function wordsOf(name, value) {
  const none = NONE.get(name);
  if (none && (!value || (typeof value === "object" && !Object.keys(value).length))) return none;
  if (value === undefined) return "model’s";
  const option = FURTHER.find((field) => field.name === name)?.options.find(([each]) => each === value);
  if (option) return option[1].toLowerCase();
  if (Array.isArray(value)) return value.map((each) => each?.function?.name ?? (typeof each === "object" ? JSON.stringify(each) : each)).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
