// The conversations: their list, the open one, and what becomes of them, here and by other tabs.

import * as conversations from "../store/conversations.js";
import { whenCleared } from "../store/database.js";
import { hear, tell } from "../store/tabs.js";
import * as stored from "../store/turns.js";
import { batch, signal } from "../vendor/signals-core.js";
import { attend, blank, keepBlank, readPlace, revive, unblank, unkept } from "./place.js";
import { runIn, running, stopOf } from "./running.js";
import { keeping, storageProblem } from "./session.js";
import { deepest, head, path, siblingsOf, turns } from "./tree.js";
import { waiting } from "./waiting.js";

/** @typedef {import("../store/conversations.js").Conversation} Conversation */
/** @typedef {import("./turn.js").Turn} Turn */
/** @typedef {import("./place.js").Place} Place */

const PAGE = 60;
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
  whenCleared(keepAnew);
  await readList(PAGE);
}

// --- Actions

/** Older ones come into the list. */
export function more() {
  return readList(list.value.length + PAGE);
}

/** What answers in the open chat, or null: of several that which is shown. */
export function runOfOpen() {
  const runs = [...running.value.values()];
  return runs.find(({ turn }) => path.value.some(({ id }) => id === turn.id)) ?? runIn(open.value.id);
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
  if (storageProblem.value && open.value.updated && open.value.id !== gone.value) unkept.set(open.value.id, here());
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
  return id === open.value.id ? here() : readPlace(id);
}

/** @param {Partial<Conversation>} changes */
export async function change(changes, conversation = open.value) {
  const changed = { ...conversation, ...changes };
  if (changed.id === open.value.id) open.value = changed;
  // One that nothing was said in is not kept yet; an older one is kept without being in the list.
  const isKept = list.value.some((each) => each.id === changed.id) || (await keeping(() => conversations.read(changed.id)));
  if (!isKept) return keepBlank(changed);
  list.value = list.value.map((each) => (each.id === changed.id ? changed : each));
  await keeping(() => conversations.save(changed));
  tell({ kind: "chat", chat: changed });
}

/** Puts a chat above all others, or back among them. @param {Conversation} chat */
export function pin(chat) {
  return change({ pinned: chat.pinned ? undefined : Date.now() }, chat.id === open.value.id ? open.value : chat);
}

/** That one is kept no more, by this tab or another one. @param {string} id */
export function forget(id) {
  for (const run of running.value.values()) if (run.turn.record.conversation === id) run.stop();
  list.value = list.value.filter((each) => each.id !== id);
  waiting.value = waiting.value.filter((record) => record.conversation !== id);
  unkept.delete(id);
  if (id !== open.value.id) return;
  gone.value = id;
  put(undefined);
}

/** A turn and all that follows it are kept no more; what is shown then is beside or before it. @param {string[]} ids the turn's first */
export function without(ids) {
  stopOf(ids);
  const turn = turns.value.get(ids[0]);
  if (!turn) return;
  const rest = new Map(turns.value);
  for (const id of ids) rest.delete(id);
  const sibling = siblingsOf(rest, turn).at(-1);
  turns.value = rest;
  if (!head.value || !rest.has(head.value)) head.value = sibling ? deepest(rest, sibling.id) : turn.record.parent;
}

// --- Internal

/** The open chat outlives that the browser clears what it kept. */
async function keepAnew() {
  const records = [...[...turns.value.values()].map(({ record }) => record), ...waiting.value];
  const own = records.filter(({ conversation }) => conversation === open.value.id);
  if (open.value.updated) await keeping(() => stored.saveAll(own, open.value));
  await readList(PAGE);
}

/** @param {number} limit */
function readList(limit) {
  return keeping(async () => {
    const [found, pinned] = await Promise.all([conversations.readNewest(limit + 1), conversations.readPinned()]);
    hasMore.value = found.length > limit;
    const newest = found.slice(0, limit);
    // The pinned ones are there whatever their age.
    list.value = [...newest, ...pinned.filter(({ id }) => !newest.some((each) => each.id === id))];
  });
}

/** To its place in the list, which is by the last change. @param {Conversation} chat */
export function enlist(chat) {
  unblank(chat.id);
  if (chat.id === open.value.id) open.value = chat;
  const others = list.value.filter((each) => each.id !== chat.id);
  list.value = [...others, chat].sort((one, other) => other.updated - one.updated);
}

/** @param {Turn[]} added @returns {[string, Turn][]} */
export const pairs = (added) => added.map((turn) => [turn.id, turn]);

/** @param {Turn[]} added @param {string | null} newHead */
export function join(added, newHead) {
  turns.value = new Map([...turns.value, ...pairs(added)]);
  if (newHead) head.value = newHead;
}

/** What another tab did. @param {import("../store/tabs.js").Message} message */
export function take(message) {
  const { kind, chat, records, turns: ids, messages } = message;
  if (kind === "grew" || kind === "ended") attend(message);
  if (kind === "many") takeAll(messages);
  if (kind === "gone") forget(chat);
  if (kind === "less") without(ids);
  if (kind !== "chat" && kind !== "turns") return;
  if (chat) enlist(chat.id === open.value.id ? { ...chat, head: open.value.head } : chat);
  if (records?.[0].conversation !== open.value.id) return;
  // Who reads the end of the same branch goes along; who reads another stays there.
  const { parent } = records[0];
  const isAtEnd = parent === head.value || (head.value && turns.value.get(head.value)?.record.parent === parent);
  join(records.map(revive), isAtEnd ? records[records.length - 1].id : null);
}

/** Drawn once; older chats than the list had stay out of it. @param {import("../store/tabs.js").Message[]} messages */
function takeAll(messages) {
  const length = Math.max(PAGE, list.value.length);
  batch(() => {
    messages.forEach(take);
    hasMore.value ||= list.value.length > length;
    list.value = list.value.filter(({ pinned }, at) => pinned || at < length);
  });
}
