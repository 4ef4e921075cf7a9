// What is deleted: a turn with all that follows it, or a whole chat; and the way back.

import * as conversations from "../store/conversations.js";
import * as drafts from "../store/drafts.js";
import { tell } from "../store/tabs.js";
import { readConversations } from "../store/transfer.js";
import * as stored from "../store/turns.js";
import { change, enlist, forget, here, join, list, more, open, take, without } from "./chats.js";
import { placeFrom, unkept } from "./place.js";
import { isStoreFull, keeping, storageProblem } from "./session.js";
import { below, head, turns } from "./tree.js";
import { isRunningState } from "./turn.js";
import { waiting } from "./waiting.js";

/** @typedef {import("../store/conversations.js").Conversation} Conversation */
/** @typedef {import("./turn.js").Turn} Turn */

// --- Actions

/** Removes it with its turns, its drafts and the files beside them. Returns what brings it back. @param {string} id */
export async function remove(id) {
  const gone = list.value.find((each) => each.id === id) ?? (await keeping(() => conversations.read(id)));
  const shown = shownOf([id]);
  forget(id);
  tell({ kind: "gone", chat: id });
  if (!gone) return async () => {};
  const back = await takeAway([gone], shown);
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
  const shown = shownOf(chats.map(({ id }) => id));
  inform(chats.map(({ id }) => ({ kind: "gone", chat: id })));
  const back = await takeAway(chats, shown);
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
  await keepLeft();
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

/** While the browser keeps nothing, what is on the screen of those chats is all that there is of them. @param {string[]} ids @returns {Map<string, stored.TurnRecord[]>} */
function shownOf(ids) {
  const places = storageProblem.value ? ids.flatMap((id) => (id === open.value.id ? here() : unkept.get(id)) ?? []) : [];
  const waitingIn = (/** @type {string} */ id) => waiting.value.filter((record) => record.conversation === id);
  return new Map(places.map(({ conversation: { id }, turns }) => pair(id, [...[...turns.values()].map(({ record }) => record), ...waitingIn(id)])));
}

/** Out of the store. Returns what puts them back into it. @param {Conversation[]} chats @param {Map<string, stored.TurnRecord[]>} shown */
async function takeAway(chats, shown) {
  const isRunning = (/** @type {stored.TurnRecord} */ { state }) => isRunningState(state);
  const turnsOf = new Map(await Promise.all(chats.map(async ({ id }) => pair(id, shown.get(id) ?? (await keeping(() => stored.readWhole(id, isRunning))) ?? []))));
  const files = await Promise.all(chats.map(async ({ id }) => (await keeping(() => drafts.readFiles(id))) ?? []));
  const idsOf = (/** @type {Conversation} */ { id }) => (turnsOf.get(id) ?? []).map((record) => record.id);
  const begun = await keeping(() => drafts.readAll(chats.flatMap((chat) => [chat.id, ...idsOf(chat)])));
  await Promise.all(chats.map((chat) => keeping(() => conversations.remove(chat.id, idsOf(chat)))));
  await keepLeft();
  return async () => {
    await restore(begun);
    const all = files.flat();
    if (all.length) await keeping(() => drafts.saveFiles(all));
    // What was stopped for it ended by itself, and says so.
    const ended = (/** @type {stored.TurnRecord} */ record) => (isRunning(record) ? { ...record, state: "CUT" } : record);
    await Promise.all(chats.map((chat) => putBack(chat, (turnsOf.get(chat.id) ?? []).map(ended))));
  };
}

/** Where there is no room for it any more, it lasts as long as the page. @param {Conversation} chat @param {stored.TurnRecord[]} records */
async function putBack(chat, records) {
  const isKept = await keeping(async () => (await stored.saveAll(records, chat), true));
  if (!isKept) unkept.set(chat.id, placeFrom(chat, records));
}

/** What found no room may have some, now that other things are gone. What still comes is kept whole as it ends. */
async function keepLeft() {
  if (!isStoreFull.value) return;
  try {
    for (const { conversation, turns } of [here(), ...unkept.values()]) {
      const records = [...[...turns.values()].map(({ record }) => record), ...waiting.value.filter((record) => record.conversation === conversation.id)];
      if (conversation.updated) await stored.saveAll(records.filter(({ state }) => !isRunningState(state)), conversation);
      unkept.delete(conversation.id);
    }
  } catch {
    // There is too little of it, and the page says so already.
    return;
  }
  storageProblem.value = "";
}

/** @template T @param {string} id @param {T} value @returns {[string, T]} */
const pair = (id, value) => [id, value];

/** @param {[id: string, text: string][]} [begun] */
async function restore(begun = []) {
  for (const [id, text] of begun) await keeping(() => drafts.save(id, text));
}
