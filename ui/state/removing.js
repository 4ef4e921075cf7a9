// What is deleted: a turn with all that follows it, or a whole chat; and the way back.

import * as conversations from "../store/conversations.js";
import * as drafts from "../store/drafts.js";
import { tell } from "../store/tabs.js";
import * as stored from "../store/turns.js";
import { change, enlist, forget, join, list, open, without } from "./chats.js";
import { keeping } from "./session.js";
import { below, head, turns } from "./tree.js";
import { isRunningState } from "./turn.js";

/** @typedef {import("./turn.js").Turn} Turn */

// --- Actions

/** Removes it with its turns, its drafts and the files beside them. Returns what brings it back. @param {string} id */
export async function remove(id) {
  const gone = list.value.find((each) => each.id === id) ?? (await keeping(() => conversations.read(id)));
  forget(id);
  tell({ kind: "gone", chat: id });
  const [records = [], files] = await Promise.all([keeping(() => stored.readAll(id)), keeping(() => drafts.readFiles(id))]);
  const begun = await keeping(() => drafts.readAll([id, ...records.map((record) => record.id)]));
  await keeping(() => conversations.remove(id, records.map((record) => record.id)));
  return async () => {
    if (!gone) return;
    // What was stopped for it ended by itself, and says so.
    const ended = records.map((record) => (isRunningState(record.state) ? { ...record, state: "CUT" } : record));
    await restore(begun);
    if (files?.length) await keeping(() => drafts.saveFiles(files));
    await keeping(() => stored.saveAll(ended, gone));
    enlist(gone);
    tell({ kind: "chat", chat: gone });
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

/** @param {[id: string, text: string][]} [begun] */
async function restore(begun = []) {
  for (const [id, text] of begun) await keeping(() => drafts.save(id, text));
}
