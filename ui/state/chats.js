// The conversations: their list, the open one, and every change to them; other tabs are told.

import * as conversations from "../store/conversations.js";
import * as drafts from "../store/drafts.js";
import { hear, tell } from "../store/tabs.js";
import * as stored from "../store/turns.js";
import { signal } from "../vendor/signals-core.js";
import { newId } from "./ids.js";
import { runIn, running } from "./running.js";
import { keeping } from "./session.js";
import { below, deepest, head, path, siblingsOf, turns } from "./tree.js";
import { isRunningState, Turn } from "./turn.js";
import { hold, OLD_MS, waiting } from "./waiting.js";

/** @typedef {import("../store/conversations.js").Conversation} Conversation */
/** @typedef {import("../store/turns.js").TurnRecord} TurnRecord */
/** @typedef {{conversation: Conversation, turns: Map<string, Turn>, head: string | null}} Place a conversation with its turns */

const PAGE = 60;
const TITLE_LENGTH = 60;
const BLANK = "ignis.blank";
/** In place of a name in the address: a chat that begins. */
export const NEW = "new";

export const list = signal(/** @type {Conversation[]} */ ([]));
/** Whether older ones are kept than the list has. */
export const hasMore = signal(false);
export const open = signal(blank());
/** The name of one that was asked for or shown, and is not there. */
export const gone = signal("");
/** The name of the one that was asked for last. @type {string | undefined} */
let wanted;

// --- Lifecycle

export async function start() {
  hear(take);
  await readList(PAGE);
}

// --- Actions

/** Older ones come into the list. */
export function more() {
  return readList(list.value.length + PAGE);
}

/** What answers in the open chat, or null: of several that which is shown. */
export function runOfOpen() {
  return path.value.map(({ id }) => running.value.get(id)).find(Boolean) ?? runIn(open.value.id);
}

export function stop() {
  runOfOpen()?.stop();
}

/** Opens that conversation; without a name the open one stays. @param {string | undefined} id */
export async function show(id) {
  if (!id || id === open.value.id) return;
  wanted = id;
  gone.value = "";
  // One that is still empty is as good as a new one, and may have settings already.
  if (id === NEW) return void (open.value.updated && put(undefined));
  const found = await placeOf(id);
  // Another one may have been asked for meanwhile.
  if (wanted !== id) return;
  put(found);
  if (!found) gone.value = id;
}

/** Puts it on the screen; nothing begins a chat. @param {Place | undefined} place */
function put(place) {
  open.value = place?.conversation ?? blank();
  turns.value = place?.turns ?? new Map();
  head.value = place?.head ?? null;
}

/** What is on the screen. @returns {Place} */
export function here() {
  return { conversation: open.value, turns: turns.value, head: head.value };
}

/** A conversation as it is on the screen or in the store; undefined: there is none. @param {string} id @returns {Promise<Place | undefined>} */
export async function placeOf(id) {
  if (id === open.value.id) return here();
  return keeping(async () => {
    const conversation = await conversations.read(id);
    if (!conversation) return undefined;
    const records = await stored.readAll(id);
    const found = records.filter((record) => record.state !== "WAITING").map(revive);
    const kept = records.filter((record) => record.state === "WAITING");
    // Old ones that this page did not know of are asked about before they go.
    const isKnown = waiting.value.some((record) => record.conversation === id);
    if (!isKnown && kept.some((record) => record.created < Date.now() - OLD_MS)) hold(id);
    waiting.value = [...waiting.value.filter((record) => record.conversation !== id), ...kept];
    return { conversation, turns: new Map(found.map((turn) => [turn.id, turn])), head: conversation.head };
  });
}

/** @param {Partial<Conversation>} changes */
export async function change(changes, conversation = open.value) {
  const changed = { ...conversation, ...changes };
  if (changed.id === open.value.id) open.value = changed;
  // One that nothing was said in is not kept yet; an older one is kept without being in the list.
  const isKept = list.value.some((each) => each.id === changed.id) || (await keeping(() => conversations.read(changed.id)));
  if (!isKept) return;
  list.value = list.value.map((each) => (each.id === changed.id ? changed : each));
  await keeping(() => conversations.save(changed));
  tell({ kind: "chat", chat: changed });
}

/** Keeps a conversation, which begins with that text; turns may come later. @param {string} text @param {Conversation} conversation */
export async function begin(text, conversation) {
  const begun = { ...conversation, title: titleOf(text), preview: text.slice(0, 80), updated: Date.now() };
  enlist(begun);
  await keeping(() => conversations.save(begun));
  tell({ kind: "chat", chat: begun });
}

/** Puts turns into a conversation and makes the last of them its head. @param {Turn[]} added */
export async function add(added, known = open.value) {
  const { text: words, attachments } = added[0].record;
  const text = words || (attachments?.[0]?.name ?? "");
  const names = known.title ? {} : { title: titleOf(text), preview: text.slice(0, 80) };
  const changed = { ...known, ...names, head: added[added.length - 1].id, updated: Date.now() };
  enlist(changed);
  if (changed.id === open.value.id) join(added, changed.head);
  await keeping(() => stored.saveAll(added.map((turn) => turn.record), changed));
  tell({ kind: "turns", chat: changed, records: added.map((turn) => turn.record) });
}

/** Puts a turn beside its siblings, shown if its conversation is. @param {Turn} turn */
export async function addBeside(turn) {
  if (turn.record.conversation === open.value.id) {
    join([turn], null);
    await goTo(turn.id);
  }
  await save(turn);
  tell({ kind: "turns", chat: null, records: [turn.record] });
}

/** @param {Turn} turn */
export function save(turn) {
  return keeping(() => stored.save(turn.record));
}

/** Shows the branch of that turn. @param {string} id */
export function goTo(id) {
  head.value = deepest(turns.value, id);
  return change({ head: head.value });
}

/** The path up to that turn as a conversation of its own. Returns its id. @param {Turn[]} path */
export async function branch(path) {
  const conversation = { ...open.value, id: newId(), created: Date.now(), updated: Date.now() };
  /** @type {TurnRecord[]} */
  const copies = [];
  for (const turn of path) {
    const parent = copies[copies.length - 1]?.id ?? null;
    copies.push({ ...turn.record, id: newId(), parent, conversation: conversation.id });
  }
  const kept = { ...conversation, head: copies.at(-1)?.id ?? null };
  await keeping(() => stored.saveAll(copies, kept));
  enlist(kept);
  tell({ kind: "turns", chat: kept, records: copies });
  return kept.id;
}

/** Shows what came from a file and is kept already. @param {Conversation} conversation @param {TurnRecord[]} records */
export function received(conversation, records) {
  const message = records.length ? { kind: "turns", chat: conversation, records } : { kind: "chat", chat: conversation };
  take(message);
  tell(message);
}

/** Removes it with its turns. Returns what brings it back. @param {string} id */
export async function remove(id) {
  runIn(id)?.stop();
  const gone = list.value.find((each) => each.id === id) ?? (await keeping(() => conversations.read(id)));
  list.value = list.value.filter((each) => each.id !== id);
  waiting.value = waiting.value.filter((record) => record.conversation !== id);
  tell({ kind: "gone", chat: id });
  const records = await keeping(() => stored.readAll(id));
  await keeping(() => conversations.remove(id, (records ?? []).map((record) => record.id)));
  return async () => {
    if (!gone) return;
    // What was stopped for it ended by itself, and says so.
    const ended = (records ?? []).map((record) => (isRunningState(record.state) ? { ...record, state: "CUT" } : record));
    await keeping(() => stored.saveAll(ended, gone));
    enlist(gone);
    tell({ kind: "chat", chat: gone });
  };
}

/** Removes a turn with all that follows it. Returns what brings it back. @param {Turn} turn */
export async function removeTurn(turn) {
  const before = { head: head.value, turns: turns.value };
  const gone = [turn, ...below(turns.value, turn.id)];
  for (const each of gone) running.value.get(each.id)?.stop();
  const rest = new Map(turns.value);
  for (const each of gone) rest.delete(each.id);
  const sibling = siblingsOf(rest, turn).at(-1);
  turns.value = rest;
  if (!head.value || !rest.has(head.value)) head.value = sibling ? deepest(rest, sibling.id) : turn.record.parent;
  const { id } = open.value;
  await change({ head: head.value });
  await keeping(() => stored.remove(gone.map((each) => each.id)));
  return async () => {
    await keeping(() => stored.saveAll(gone.map((each) => each.record)));
    if (open.value.id !== id) return;
    join(gone, before.head);
    await change({ head: before.head });
  };
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

/** @param {number} limit */
function readList(limit) {
  return keeping(async () => {
    const found = await conversations.readNewest(limit + 1);
    hasMore.value = found.length > limit;
    list.value = found.slice(0, limit);
  });
}

/** A chat that nothing was said in yet; in one tab it is always the same, so that its draft outlives a reload. @returns {Conversation} */
function blank() {
  const id = sessionStorage.getItem(BLANK) ?? newId();
  sessionStorage.setItem(BLANK, id);
  return { id, title: "", head: null, settings: {}, created: Date.now(), updated: 0, preview: "", v: 1 };
}

/** @param {string} text */
function titleOf(text) {
  const line = text.trim().split("\n", 1)[0];
  if (line.length <= TITLE_LENGTH) return line;
  return `${line.slice(0, TITLE_LENGTH).replace(/\s+\S*$/, "")}…`;
}

/** To its place in the list, which is by the last change. @param {Conversation} chat */
function enlist(chat) {
  if (chat.id === sessionStorage.getItem(BLANK)) sessionStorage.removeItem(BLANK);
  if (chat.id === open.value.id) open.value = chat;
  const others = list.value.filter((each) => each.id !== chat.id);
  list.value = [...others, chat].sort((one, other) => other.updated - one.updated);
}

/** @param {Turn[]} added @param {string | null} newHead */
function join(added, newHead) {
  turns.value = new Map([...turns.value, ...added.map((turn) => /** @type {[string, Turn]} */ ([turn.id, turn]))]);
  if (newHead) head.value = newHead;
}

/** A turn as it was kept. One that streams, streams into another tab, or its page died. @param {TurnRecord} record */
function revive(record) {
  const live = running.value.get(record.id);
  if (live) return live.turn;
  const turn = new Turn(record);
  if (turn.isRunning) import("./mirror.js").then(({ adopt }) => adopt(turn));
  return turn;
}

/** What another tab did. @param {import("../store/tabs.js").Message} message */
function take({ kind, chat, records }) {
  if (kind === "gone") list.value = list.value.filter((each) => each.id !== chat);
  if (kind === "chat") enlist(chat.id === open.value.id ? { ...chat, head: open.value.head } : chat);
  if (kind !== "turns") return;
  if (chat) enlist(chat.id === open.value.id ? { ...chat, head: open.value.head } : chat);
  if (records[0].conversation !== open.value.id) return;
  // Who reads the end of the same branch goes along; who reads another stays there.
  const isAtEnd = records[0].parent === head.value || siblingOfHead(records[0]);
  join(records.map(revive), isAtEnd ? records[records.length - 1].id : null);
}

/** @param {TurnRecord} record */
function siblingOfHead(record) {
  return head.value !== null && turns.value.get(head.value)?.record.parent === record.parent;
}
