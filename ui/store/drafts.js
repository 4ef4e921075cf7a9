// What was typed and not sent, a conversation each: at most one write under way, the newest text next.

import * as database from "./database.js";

/** @type {Map<string, string>} */
const waiting = new Map();
let isWriting = false;

/** @param {string} conversation @returns {Promise<string>} */
export async function read(conversation) {
  return waiting.get(conversation) ?? (await database.get("drafts", conversation))?.text ?? "";
}

/** @param {string} conversation @param {string} text */
export async function save(conversation, text) {
  waiting.set(conversation, text);
  if (isWriting) return;
  isWriting = true;
  try {
    while (waiting.size) {
      const [[id, newest]] = waiting;
      await database.put("drafts", { conversation: id, text: newest });
      if (waiting.get(id) === newest) waiting.delete(id);
    }
  } finally {
    isWriting = false;
  }
}
