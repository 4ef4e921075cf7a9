// What was typed and not sent, of a conversation or of a turn that is written anew: at most one write under way, the newest text next. The files beside
// it are records of their own, so that typing does not write them again.

import * as database from "./database.js";

/** @typedef {{id: string, name: string, type: string, size: number, blob: Blob}} KeptFile id begins with the conversation's */

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
      await database.write(["drafts"], (store) => (newest ? store("drafts").put({ conversation: id, text: newest }) : store("drafts").delete(id)));
      if (waiting.get(id) === newest) waiting.delete(id);
    }
  } finally {
    isWriting = false;
  }
}

/** Those of them that have one. @param {string[]} ids @returns {Promise<[id: string, text: string][]>} */
export async function readAll(ids) {
  const wanted = new Set(ids);
  const kept = await database.inRange("drafts", IDBKeyRange.lowerBound(""));
  const texts = new Map([...kept.map(({ conversation, text }) => /** @type {[string, string]} */ ([conversation, text])), ...waiting]);
  return [...texts].filter(([id, text]) => text && wanted.has(id));
}

/** What is to be written of them is not. @param {string[]} ids */
export function forget(ids) {
  for (const id of ids) waiting.delete(id);
}

/** The files beside the message, in the order in which they came. @param {string} conversation @returns {Promise<KeptFile[]>} */
export function readFiles(conversation) {
  return database.inRange("blobs", filesOf(conversation));
}

/** @param {KeptFile[]} files */
export function saveFiles(files) {
  return database.write(["blobs"], (store) => files.forEach((file) => store("blobs").put(file)));
}

/** @param {string[]} ids */
export function removeFiles(ids) {
  return database.write(["blobs"], (store) => ids.forEach((id) => store("blobs").delete(id)));
}

/** @param {string} conversation */
export function filesOf(conversation) {
  return IDBKeyRange.bound(`${conversation}/`, `${conversation}/\uffff`);
}
