// Words in all that is kept: chats by title at once, then texts in steps, so that the page stays free meanwhile.

import * as database from "./database.js";

/** @typedef {import("./turns.js").TurnRecord} TurnRecord */
/** @typedef {{turn: string, conversation: string, role: string, before: string, match: string, after: string, created: number}} Hit */

const STEP = 500;
const AROUND = 60;

/** What matches those words wherever they stand, in any case; null for none. @param {string} words */
export function matcher(words) {
  const wanted = words.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+");
  return wanted ? new RegExp(wanted, "iu") : null;
}

/** Where it is in the turn, with some text around; null: it is not. @param {TurnRecord} turn @param {RegExp} wanted @returns {Hit | null} */
export function hitIn(turn, wanted) {
  for (const channel of /** @type {const} */ (["text", "reasoning"])) {
    const text = turn[channel] ?? "";
    const found = wanted.exec(text);
    if (!found) continue;
    const { index: at } = found;
    const end = at + found[0].length;
    const before = text.slice(Math.max(0, at - AROUND), at).replace(/\s+/g, " ");
    const after = text.slice(end, end + AROUND).replace(/\s+/g, " ");
    const { id, conversation, role, created } = turn;
    return { turn: id, conversation, role, before: at > AROUND ? `…${before}` : before, match: found[0].replace(/\s+/g, " "), after, created };
  }
  return null;
}

/** Chats whose title has it, the newest first. @param {RegExp} wanted @returns {Promise<import("./conversations.js").Conversation[]>} */
export async function inTitles(wanted) {
  const store = (await database.open()).transaction("conversations").objectStore("conversations");
  const all = /** @type {import("./conversations.js").Conversation[]} */ (await database.result(store.getAll()));
  return all.filter(({ title }) => wanted.test(title)).sort((one, other) => other.updated - one.updated);
}

/**
 * Yields the hits of each step and how many turns were looked at. Stops where the signal says so.
 * @param {RegExp} wanted @param {AbortSignal} stopped
 * @returns {AsyncGenerator<{hits: Hit[], numRead: number}>}
 */
export async function* inTexts(wanted, stopped) {
  /** @type {IDBValidKey | undefined} */
  let after;
  for (let numRead = 0; !stopped.aborted; ) {
    const store = (await database.open()).transaction("turns").objectStore("turns");
    const range = after === undefined ? null : IDBKeyRange.lowerBound(after, true);
    const turns = /** @type {TurnRecord[]} */ (await database.result(store.getAll(range, STEP)));
    if (stopped.aborted || !turns.length) return;
    numRead += turns.length;
    after = turns[turns.length - 1].id;
    yield { hits: turns.map((turn) => hitIn(turn, wanted)).filter((hit) => hit !== null), numRead };
    if (turns.length < STEP) return;
  }
}
