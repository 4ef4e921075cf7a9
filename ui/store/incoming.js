// A file of chats as it comes from outside: what is not as the page itself would have written it is refused, with words.

import { fieldsOf, isPlain, isWithin, MAX_SEED, Refused, shown } from "./fields.js";
import { requestOf, samplingOf } from "./incoming-request.js";

/**
 * @typedef {import("./conversations.js").Conversation} Conversation
 * @typedef {import("./fields.js").Fields} Fields
 * @typedef {import("./turns.js").TurnRecord} TurnRecord
 * @typedef {{conversations: Conversation[], turns: TurnRecord[]}} Incoming
 */

export const VERSION = 1;
const MAX_TITLE = 400;
const MAX_NAME = 400;
/** What a server says it ended with is a word. */
const MAX_WORD = 40;
const MAX_TOKENS = 1e9;
/** How deep a request may be nested. */
const MAX_DEPTH = 64;
const PICTURE = /^data:image\/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/=]*$/;
/** What a turn of a file can be: what was under way there is cut here, and what waited for a server stays there. */
const STATES = new Set(["DONE", "STOPPED", "FAILED", "CUT"]);
const ROLES = new Set(["user", "assistant"]);
/** What a setting can say that is one of a few. @type {[string, Set<string>][]} */
const WORDS = [
  ["effort", new Set(["none", "minimal", "low", "medium", "high", "xhigh", "max"])],
  ["format", new Set(["json", "schema", "regex", "grammar", "choice"])],
  ["toolChoice", new Set(["required", "none", "auto"])], // the last, which is what it is without, by a page of before
];

/**
 * @param {string} text @param {Set<string>} parameters the fields that a chat may set for its requests
 * @returns {Incoming} Raises Refused.
 */
export function readFile(text, parameters) {
  const file = parsed(text);
  if (!isShallow(file)) throw new Refused(`This file is nested deeper than ${MAX_DEPTH} levels.`);
  if (!isPlain(file) || !Object.hasOwn(file, "ignis_export")) throw new Refused("This is no file of chats: it lacks “ignis_export”.");
  if (file.ignis_export !== VERSION) throw new Refused(`This file is of version ${shown(file.ignis_export)}; this page reads version ${VERSION}.`);
  const conversations = list(file, "conversations").map((each, at) => conversationOf(fieldsOf(each, `conversations[${at}]`), parameters));
  const turns = list(file, "turns").map((each, at) => turnOf(fieldsOf(each, `turns[${at}]`)));
  const chats = unique(conversations, "conversations");
  unique(turns, "turns");
  turns.forEach((turn, at) => {
    if (!chats.has(turn.conversation)) throw new Refused(`turns[${at}] belongs to a chat that is not in the file.`);
  });
  return { conversations, turns };
}

/** Raises Refused where a turn comes before itself or follows one of another chat. @param {TurnRecord[]} turns all of some chats */
export function checkTrees(turns) {
  const byId = new Map(turns.map((turn) => [turn.id, turn]));
  const sound = new Set();
  for (const turn of turns) {
    const seen = new Set();
    for (let at = /** @type {TurnRecord | undefined} */ (turn); at && !sound.has(at.id); at = at.parent ? byId.get(at.parent) : undefined) {
      if (seen.has(at.id)) throw new Refused(`The turn ${at.id} comes before itself.`);
      if (at.conversation !== turn.conversation) throw new Refused(`The turn ${turn.id} follows one of another chat.`);
      seen.add(at.id);
    }
    for (const id of seen) sound.add(id);
  }
}

// --- Internal

/** @param {string} text @returns {any} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused(`This is no JSON: ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {Fields} fields @param {Set<string>} parameters @returns {Conversation} */
function conversationOf(fields, parameters) {
  return {
    id: fields.id("id"),
    title: fields.text("title").trim().slice(0, MAX_TITLE) || "Without a title",
    head: fields.optionalId("head"),
    settings: settingsOf(fields.inner("settings"), parameters),
    created: fields.number("created"),
    // What is to come would be the newest for as long.
    updated: Math.min(fields.number("updated"), Date.now()),
    preview: fields.text("preview", "").slice(0, MAX_TITLE),
    ...(fields.value.pinned ? { pinned: fields.number("pinned") } : {}),
    v: 1,
  };
}

/** @param {Fields} fields @param {Set<string>} parameters */
function settingsOf(fields, parameters) {
  /** @type {Record<string, any>} */
  const settings = {};
  const most = { model: MAX_NAME, system: Infinity, schema: Infinity, tools: Infinity };
  for (const [name, length] of Object.entries(most)) if (fields.has(name)) settings[name] = fields.text(name, undefined, length);
  for (const [name, words] of WORDS) if (fields.has(name)) settings[name] = fields.oneOf(name, words);
  for (const name of ["logprobs", "ownTools"]) if (fields.has(name)) settings[name] = fields.flag(name);
  // Where tools are off, nothing of them is set.
  if (settings.tools === undefined) delete settings.ownTools, delete settings.toolChoice;
  if (settings.toolChoice === "auto") delete settings.toolChoice;
  const sampling = samplingOf(fields.inner("sampling"), parameters);
  if (Object.keys(sampling).length) settings.sampling = sampling;
  return settings;
}

/** @param {Fields} fields @returns {TurnRecord} */
function turnOf(fields) {
  const times = fields.inner("times");
  const { usage, timings } = fields.value;
  const turn = {
    id: fields.id("id"),
    conversation: fields.id("conversation"),
    parent: fields.optionalId("parent"),
    role: fields.oneOf("role", ROLES),
    text: fields.text("text"),
    reasoning: fields.text("reasoning", ""),
    tools: fields.list("tools").map((call) => ({
      name: call.text("name"), arguments: call.text("arguments"), ...(call.has("result") ? { result: call.text("result") } : {}),
    })),
    state: fields.oneOf("state", STATES),
    request: requestOf(fields),
    model: fields.text("model", "").slice(0, MAX_NAME),
    seed: fields.optionalNumber("seed", MAX_SEED),
    finish: fields.optionalText("finish")?.slice(0, MAX_WORD) ?? null,
    failure: fields.optionalText("failure")?.slice(0, MAX_TITLE) ?? null,
    // A readout counts on these two.
    usage: isPlain(usage) && [usage.prompt_tokens, usage.completion_tokens].every((each) => isWithin(each, MAX_TOKENS)) ? numbersOf(usage, MAX_TOKENS) : null,
    timings: isPlain(timings) ? numbersOf(timings, MAX_SEED) : null,
    times: {
      sent: times.number("sent", 0),
      thought: times.optionalNumber("thought"), first: times.optionalNumber("first"),
      text: times.optionalNumber("text"), last: times.optionalNumber("last"),
    },
    isEdited: fields.flag("isEdited"),
    created: fields.number("created"),
    v: 1,
  };
  const attachments = fields.list("attachments").map(attachmentOf);
  return /** @type {TurnRecord} */ ({
    ...turn,
    ...(attachments.length ? { attachments } : {}),
    ...(fields.has("forcedAt") ? { forcedAt: fields.optionalNumber("forcedAt") } : {}),
    ...(fields.has("sameAs") ? { sameAs: fields.id("sameAs") } : {}),
    ...(fields.has("logprobs") ? { logprobs: choicesOf(fields.value.logprobs, fields.place) } : {}),
  });
}

/** @param {Fields} fields @returns {import("./turns.js").Attachment} */
function attachmentOf(fields) {
  const about = { name: fields.text("name").slice(0, MAX_NAME), type: fields.text("type", "").slice(0, MAX_NAME), size: fields.number("size") };
  if (!fields.has("url")) return { ...about, text: fields.text("text") };
  const url = fields.text("url");
  if (!PICTURE.test(url)) throw new Refused(`${fields.place}.url is no picture of the kinds png, jpeg, webp and gif.`);
  return { ...about, url };
}

/** @param {unknown} value @param {string} place @returns {import("./turns.js").TokenChoice[]} */
function choicesOf(value, place) {
  const isPair = (/** @type {any} */ each) => Array.isArray(each) && typeof each[0] === "string" && Number.isFinite(each[1]);
  if (!Array.isArray(value) || !value.every((each) => isPair(each) && Array.isArray(each[2]) && each[2].every(isPair))) {
    throw new Refused(`${place}.logprobs is no list of tokens with their probabilities.`);
  }
  return value;
}

/** Of counts and times, what is a number, two levels deep. @param {Record<string, unknown>} value @param {number} most @returns {Record<string, any>} */
function numbersOf(value, most, depth = 0) {
  const kept = Object.entries(value).filter(([, each]) => isWithin(each, most) || (isPlain(each) && depth < 2));
  return Object.fromEntries(kept.map(([name, each]) => [name, isPlain(each) ? numbersOf(each, most, depth + 1) : each]));
}

/** @param {Record<string, any>} file @param {string} name @returns {unknown[]} */
function list(file, name) {
  if (!Array.isArray(file[name])) throw new Refused(`“${name}” is no list.`);
  return file[name];
}

/** @param {{id: string}[]} records @param {string} name */
function unique(records, name) {
  const ids = new Set(records.map((record) => record.id));
  if (ids.size !== records.length) throw new Refused(`“${name}” has the same id twice.`);
  return ids;
}

/** Whether nothing in it is nested too deep to be kept. @param {unknown} value @returns {boolean} */
function isShallow(value, left = MAX_DEPTH) {
  if (typeof value !== "object" || value === null) return true;
  return left > 0 && Object.values(value).every((/** @type {unknown} */ each) => isShallow(each, left - 1));
}
