// A branch of the open conversation as one of its own.

import { tell } from "../store/tabs.js";
import * as stored from "../store/turns.js";
import { enlist, open } from "./chats.js";
import { newId } from "./ids.js";
import { keeping } from "./session.js";

/** The path up to that turn as a conversation of its own. Returns its id. @param {import("./turn.js").Turn[]} path */
export async function branch(path) {
  const conversation = { ...open.value, id: newId(), created: Date.now(), updated: Date.now(), pinned: undefined };
  /** @type {stored.TurnRecord[]} */
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
