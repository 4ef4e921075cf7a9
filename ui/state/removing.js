// What is deleted: a turn with all that follows it, or a whole chat; and the way back.

import * as conversations from "../store/conversations.js";
import * as drafts from "../store/drafts.js";
import { tell } from "../store/tabs.js";
import { readConversations } from "../store/transfer.js";
import * as stored from "../store/turns.js";
import { change, enlist, forget, join, list, more, open, take, without } from "./chats.js";
import { keeping } from "./session.js";
import { below, head, turns } from "./tree.js";
import { isRunningState } from "./turn.js";

/** @typedef {import("../store/conversations.js").Conversation} Conversation */
/** @typedef {import("./turn.js").Turn} Turn */

// --- Actions

/** Removes it with its turns, its drafts and the files beside them. Returns what brings it back. @param {string} id */
export async function remove(id) {
  const gone = list.value.find((each) => each.id === id) ?? (await keeping(() => conversations.read(id)));
  forget(id);
  tell({ kind: "gone", chat: id });
  if (!gone) return async () => {};
  const back = await takeAway([gone]);
  return async () => {
    await back();
    enlist(gone);
    tell({ kind: "chat", chat: gone });
  };
}

/** All that there are. @returns {Promise<Conversation[]>} */
export async function everyChat() {
  const kept = (await keeping(readConversations)) ?? [];
  return [...new Map([...kept, ...list.value].map((chat) => [chat.id, chat])).values()];
}

/** Removes those chats as one. Returns what brings them back. @param {Conversation[]} chats */
export async function removeAll(chats) {
  const inform = (/** @type {import("../store/tabs.js").Message[]} */ messages) => {
    take({ kind: "many", messages });
    tell({ kind: "many", messages });
  };
  inform(chats.map(({ id }) => ({ kind: "gone", chat: id })));
  const back = await takeAway(chats);
  await more();
  return async () => {
    await back();
    inform(chats.map((chat) => ({ kind: "chat", chat })));
  };
}

/** Removes a turn with all that follows it. Returns what brings it back. @param {Turn} turn */
export async function removeTurn(turn) {
  const before = head.value;
  const { id } = open.value;
  const gone = [turn, ...below(turns.value, turn.id)];
  const ids = gone.map((each) => each.id);
  without(ids);
  tell({ kind: "less", chat: id, turns: ids });
  await change({ head: head.value });
  const begun = await keeping(() => drafts.readAll(ids));
  await keeping(() => stored.remove(ids));
  return async () => {
    const records = gone.map((each) => each.record);
    await restore(begun);
    await keeping(() => stored.saveAll(records));
    tell({ kind: "turns", chat: null, records });
    if (open.value.id !== id) return;
    join(gone, before);
    await change({ head: before });
  };
}

// --- Internal

/** Out of the store. Returns what puts them back into it. @param {Conversation[]} chats */
async function takeAway(chats) {
  const isRunning = (/** @type {stored.TurnRecord} */ { state }) => isRunningState(state);
  const turnsOf = new Map(await Promise.all(chats.map(async ({ id }) => pair(id, (await keeping(() => stored.readWhole(id, isRunning))) ?? []))));
  const files = await Promise.all(chats.map(async ({ id }) => (await keeping(() => drafts.readFiles(id))) ?? []));
  const idsOf = (/** @type {Conversation} */ { id }) => (turnsOf.get(id) ?? []).map((record) => record.id);
  const begun = await keeping(() => drafts.readAll(chats.flatMap((chat) => [chat.id, ...idsOf(chat)])));
  await Promise.all(chats.map((chat) => keeping(() => conversations.remove(chat.id, idsOf(chat)))));
  return async () => {
    await restore(begun);
    const all = files.flat();
    if (all.length) await keeping(() => drafts.saveFiles(all));
    // What was stopped for it ended by itself, and says so.
    const ended = (/** @type {stored.TurnRecord} */ record) => (isRunning(record) ? { ...record, state: "CUT" } : record);
    await Promise.all(chats.map((chat) => keeping(() => stored.saveAll((turnsOf.get(chat.id) ?? []).map(ended), chat))));
  };
}

/** @template T @param {string} id @param {T} value @returns {[string, T]} */
const pair = (id, value) => [id, value];

/** @param {[id: string, text: string][]} [begun] */
async function restore(begun = []) {
  for (const [id, text] of begun) await keeping(() => drafts.save(id, text));
}
