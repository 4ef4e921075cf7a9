// What a file says that was asked, or is to be asked: each field that the page knows is of the kind that the page itself would have written.

import { fieldsOf, isPlain, isWithin, MAX_SEED } from "./fields.js";

/**
 * @typedef {import("./fields.js").Fields} Fields
 * @typedef {(value: any) => boolean} Test
 */

/** @type {Test} */
const isText = (value) => typeof value === "string";
/** @type {Test} */
const isFlag = (value) => typeof value === "boolean";
/** @type {Test} */
const isBias = (value) => isPlain(value) && Object.values(value).every(Number.isFinite);
/** @type {(isSo: Test) => Test} */
const isListOf = (isSo) => (value) => Array.isArray(value) && value.every(isSo);
/** @type {(...some: Test[]) => Test} */
const either = (...some) => (value) => some.some((isSo) => isSo(value));
/** @type {(fields: Record<string, Test>) => Test} */
const has = (fields) => (value) => isPlain(value) && Object.entries(fields).every(([name, isSo]) => isSo(value[name]));
/** @type {Test} */
const isSeed = (value) => isWithin(value, MAX_SEED);
/** What a part of a message says stands in the field that its type names. @type {Map<string, Test>} */
const PARTS = new Map(Object.entries({ text: isText, refusal: isText, image_url: has({ url: isText }) }));
/** @type {Test} */
const isPart = (value) => has({ type: isText })(value) && (PARTS.get(value.type)?.(value[value.type]) ?? true);
const SEED = "a number of 64 bits";

/** By kind: what is such a one, how it is called, and the fields of it. @type {[isSo: Test, wanted: string, names: string][]} */
const KINDS = [
  [Number.isFinite, "a number", "temperature top_p top_k min_p repetition_penalty presence_penalty frequency_penalty max_completion_tokens thinking_budget top_logprobs"],
  [isSeed, SEED, "seed"],
  [(value) => Number.isInteger(value) && value >= 1, "a whole number of 1 or more", "n"],
  [isFlag, "true or false", "parallel_tool_calls preserve_thinking ignore_eos logprobs"],
  [isText, "text", "model system reasoning_effort class guided_regex guided_grammar"],
  [either(isText, isListOf(isText)), "text or a list of texts", "stop"],
  [isListOf(isText), "a list of texts", "guided_choice"],
  [isBias, "numbers by the ids of tokens", "logit_bias"],
  [isListOf(has({ function: has({ name: isText }) })), "a list of functions with names", "tools"],
  [either(isText, isPlain), "text or an object", "tool_choice"],
  [has({ type: isText, json_schema: (value) => value === undefined || isPlain(value) }), "a form of answers", "response_format"],
];
const KIND = new Map(KINDS.flatMap(([isSo, wanted, names]) => names.split(" ").map((name) => /** @type {const} */ ([name, { isSo, wanted }]))));
/** What a person has typed into these and is none yet is kept with a chat's settings as it was typed. */
const TYPED = new Set(["a number", SEED, "numbers by the ids of tokens"]);

/** What a chat says of sampling. Raises Refused. @param {Fields} fields @param {Set<string>} parameters those that it may say */
export function samplingOf(fields, parameters) {
  const isTyped = (/** @type {string} */ name, /** @type {unknown} */ value) => (isText(value) && TYPED.has(KIND.get(name)?.wanted ?? "")) || (name === "seed" && Number.isFinite(value));
  return valuesOf(fields, (name, value) => parameters.has(name) && value !== null, isTyped);
}

/** The request of a turn; null where there is none. Raises Refused. @param {Fields} turn @returns {Record<string, any> | null} */
export function requestOf(turn) {
  const { request } = turn.value;
  if (!isPlain(request) || !isListOf(isPlain)(request.messages)) return null;
  const fields = turn.inner("request");
  fields.ofKind("messages", (messages) => messages.length > 0, "a list of messages");
  for (const [at, message] of request.messages.entries()) checkMessage(fieldsOf(message, `${fields.place}.messages[${at}]`));
  // None of a field is as good as its absence.
  return valuesOf(fields, (_, value) => value !== null);
}

// --- Internal

/** @param {Fields} fields @param {(name: string, value: unknown) => boolean} isKept @param {(name: string, value: unknown) => boolean} [isTyped] */
function valuesOf(fields, isKept, isTyped = () => false) {
  const kept = Object.entries(fields.value).filter(([name, value]) => isKept(name, value));
  for (const [name, value] of kept) {
    const kind = KIND.get(name);
    if (kind && !isTyped(name, value)) fields.ofKind(name, kind.isSo, kind.wanted);
  }
  // One text to stop at is a list of one.
  return Object.fromEntries(kept.map(([name, value]) => [name, name === "stop" ? [value].flat() : value]));
}

/** @param {Fields} fields */
function checkMessage(fields) {
  const isSystem = fields.text("role") === "system";
  if (isSystem) fields.text("content");
  else fields.ofKind("content", either((value) => value == null, isText, isListOf(isPart)), "text or a list of parts");
  for (const call of fields.list("tool_calls")) call.ofKind("function", has({ name: isText, arguments: isText }), "a function with its name and arguments");
}
