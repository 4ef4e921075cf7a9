// A conversation with its turns, as it is kept or as it begins.

import * as conversations from "../store/conversations.js";
import * as drafts from "../store/drafts.js";
import * as stored from "../store/turns.js";
import { newId } from "./ids.js";
import { running } from "./running.js";
import { keeping, keepWord, keptWord } from "./session.js";
import { deepest, turns } from "./tree.js";
import { Turn } from "./turn.js";
import { hold, OLD_MS, waiting } from "./waiting.js";

/** @typedef {import("../store/conversations.js").Conversation} Conversation */
/** @typedef {import("../store/turns.js").TurnRecord} TurnRecord */
/** @typedef {{conversation: Conversation, turns: Map<string, Turn>, head: string | null}} Place a conversation with its turns */

const TITLE_LENGTH = 60;
const BLANK = "ignis.blank";
const SET = "ignis.blank.settings";
/** Chats that were shown while the browser keeps nothing: they last as long as the page. @type {Map<string, Place>} */
export const unkept = new Map();

// --- Actions

/** One that is kept; undefined: there is none. @param {string} id @returns {Promise<Place | undefined>} */
export async function readPlace(id) {
  return unkept.get(id) ?? keeping(async () => {
    const [conversation, records] = await Promise.all([conversations.read(id), stored.readAll(id)]);
    return conversation && placeFrom(conversation, records);
  });
}

/** @param {Conversation} conversation @param {TurnRecord[]} records all of it @returns {Place} */
export function placeFrom(conversation, records) {
  const { id } = conversation;
  const found = new Map(rooted(records.filter((record) => record.state !== "WAITING")).map((record) => [record.id, revive(record)]));
  const kept = records.filter((record) => record.state === "WAITING");
  // Old ones that this page did not know of are asked about before they go.
  const isKnown = waiting.value.some((record) => record.conversation === id);
  if (!isKnown && kept.some((record) => record.created < Date.now() - OLD_MS)) hold(id);
  waiting.value = [...waiting.value.filter((record) => record.conversation !== id), ...kept];
  const last = found.has(conversation.head ?? "") ? conversation.head : ([...found.keys()].at(-1) ?? null);
  return { conversation, turns: found, head: last && deepest(found, last) };
}

/** A turn as it was kept. One that streams, streams into another tab, or its page died. @param {TurnRecord} record */
export function revive(record) {
  const live = running.value.get(record.id);
  if (live) return live.turn;
  const turn = new Turn(record);
  // What an answer calls for may be about to begin in the tab that it came to.
  const isOpen = record.state === "DONE" && record.tools.some(({ result, list }) => result === undefined && !list);
  if (turn.isRunning || isOpen) seek(turn);
  return turn;
}

/** A turn that is no more under way here, and in another tab is: that was busy for long, or it goes on there. @param {import("../store/tabs.js").Message} message */
export function attend({ turn: id, record, rest = record }) {
  const turn = turns.value.get(id);
  if (!turn || turn.isSought.value || running.value.has(id) || stored.isAbove(turn.record, rest)) return;
  if (record) {
    turn.become(record);
    // What shows it had come to its end.
    turn.resumptions.value += 1;
  } else seek(turn);
}

/** @param {Turn} turn */
function seek(turn) {
  turn.isSought.value = true;
  import("./mirror.js").then(({ adopt }) => adopt(turn));
}

/** A chat that nothing was said in yet; in one tab it is always the same, so that its draft outlives a reload. @returns {Conversation} */
export function blank() {
  const id = keptWord("sessionStorage", BLANK) ?? newId();
  keepWord("sessionStorage", BLANK, id);
  return { id, title: "", head: null, settings: blankSettings(), created: Date.now(), updated: 0, preview: "", v: 1 };
}

/** @returns {import("./settings.js").Settings} */
function blankSettings() {
  try {
    return JSON.parse(keptWord("sessionStorage", SET) ?? "{}") ?? {};
  } catch {
    // What an older page left is no reason not to start.
    return {};
  }
}

/** What that one is set to goes with its draft: both outlive that another chat is opened. @param {Conversation} chat */
export function keepBlank({ id, settings }) {
  if (id === keptWord("sessionStorage", BLANK)) keepWord("sessionStorage", SET, JSON.stringify(settings));
}

/** That one is not empty any more. @param {string} id */
export function unblank(id) {
  if (id === keptWord("sessionStorage", BLANK)) for (const word of [BLANK, SET]) keepWord("sessionStorage", word, null);
}

/** @param {string} text */
export function titleOf(text) {
  const line = text.trim().split("\n", 1)[0];
  if (line.length <= TITLE_LENGTH) return line;
  return `${line.slice(0, TITLE_LENGTH).replace(/\s+\S*$/, "")}…`;
}

/** @param {string} id */
export async function draftOf(id) {
  return (await keeping(() => drafts.read(id))) ?? "";
}

/** @param {string} id @param {string} text */
export function keepDraft(id, text) {
  return keeping(() => drafts.save(id, text));
}

// --- Internal

/** What another tab said to a turn that was deleted meanwhile begins the chat anew beside what there is. @param {TurnRecord[]} records */
function rooted(records) {
  const ids = new Set(records.map(({ id }) => id));
  const inOrder = records.sort((one, other) => one.created - other.created);
  return inOrder.map((record) => (record.parent && !ids.has(record.parent) ? { ...record, parent: null } : record));
}
