// Conversations as they are kept: read by the newest, written whole (they are small).

import * as database from "./database.js";
import { filesOf, forget } from "./drafts.js";

/**
 * @typedef {{id: string, title: string, head: string | null, settings: Record<string, any>, created: number,
 *   updated: number, preview: string, pinned?: number, v: 1}} Conversation pinned: since when, in ms since 1970
 */

/**
 * The newest, at most limit.
 * @param {number} limit
 * @returns {Promise<Conversation[]>}
 */
export async function readNewest(limit) {
  const store = (await database.open()).transaction("conversations").objectStore("conversations");
  return new Promise((resolve, reject) => {
    /** @type {Conversation[]} */
    const found = [];
    const request = store.index("updated").openCursor(null, "prev");
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (!cursor || found.length === limit) return resolve(found);
      found.push(cursor.value);
      cursor.continue();
    };
  });
}

/** Those that are pinned, however old. @returns {Promise<Conversation[]>} */
export async function readPinned() {
  const store = (await database.open()).transaction("conversations").objectStore("conversations");
  return database.result(store.index("pinned").getAll());
}

/** @param {string} id @returns {Promise<Conversation | undefined>} */
export function read(id) {
  return database.get("conversations", id);
}

/** @param {Conversation} conversation */
export function save(conversation) {
  return database.put("conversations", conversation);
}

/**
 * Removes it with its turns, their pieces and all drafts.
 * @param {string} id @param {string[]} turns
 */
export function remove(id, turns) {
  forget([id, ...turns]);
  return database.write(["conversations", "turns", "pieces", "drafts", "blobs"], (store) => {
    store("conversations").delete(id);
    store("drafts").delete(id);
    store("blobs").delete(filesOf(id));
    for (const turn of turns) {
      store("turns").delete(turn);
      store("drafts").delete(turn);
      store("pieces").delete(IDBKeyRange.bound([turn, 0], [turn, Infinity]));
    }
  });
}
