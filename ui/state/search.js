// What is searched for in all chats: titles at once, then texts as they are read.

import * as stored from "../store/search.js";
import { signal } from "../vendor/signals-core.js";
import { keeping } from "./session.js";

/** While keys come, nothing is read. */
const PAUSE_MS = 150;
/** More of them help nobody to find one. */
const MAX_HITS = 200;

/** @typedef {import("../store/search.js").Hit} Hit */

export const searched = signal({ words: "", chats: /** @type {import("../store/conversations.js").Conversation[]} */ ([]), hits: /** @type {Hit[]} */ ([]), numRead: 0, isDone: true });

/** Of all chats that are kept, the newest first. */
export const titles = signal(/** @type {import("../store/conversations.js").Conversation[]} */ ([]));

/** @type {AbortController | null} */
let under = null;

export async function readTitles() {
  titles.value = (await keeping(() => stored.inTitles(/(?:)/))) ?? [];
}

/** What was found so far stays. */
export function halt() {
  under?.abort();
}

/** Takes the place of a search under way; no words end it. @param {string} words */
export async function search(words) {
  under?.abort();
  const { signal: stopped } = (under = new AbortController());
  const wanted = stored.matcher(words);
  searched.value = { words, chats: [], hits: [], numRead: 0, isDone: !wanted };
  if (!wanted) return;
  const chats = await keeping(() => stored.inTitles(wanted));
  if (stopped.aborted) return;
  searched.value = { ...searched.value, chats: chats ?? [] };
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  await keeping(async () => {
    for await (const { hits, numRead } of stored.inTexts(wanted, stopped)) {
      searched.value = { ...searched.value, hits: [...searched.value.hits, ...hits].slice(0, MAX_HITS), numRead };
      if (searched.value.hits.length === MAX_HITS) return;
    }
  });
  if (!stopped.aborted) searched.value = { ...searched.value, isDone: true };
}
