// What is put into a conversation: its beginning, its turns, and which of its branches is shown then; other tabs are told.

import * as conversations from "../store/conversations.js";
import { tell } from "../store/tabs.js";
import * as stored from "../store/turns.js";
import { change, enlist, join, open, pairs } from "./chats.js";
import { titleOf, unkept } from "./place.js";
import { keeping } from "./session.js";
import { deepest, head, turns } from "./tree.js";

/** @typedef {import("../store/conversations.js").Conversation} Conversation */
/** @typedef {import("./turn.js").Turn} Turn */

// --- Actions

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
  const left = unkept.get(changed.id);
  if (changed.id === open.value.id) join(added, changed.head);
  else if (left) unkept.set(changed.id, { conversation: changed, turns: new Map([...left.turns, ...pairs(added)]), head: changed.head });
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
