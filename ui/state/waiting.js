// Messages that wait to be sent: for a running answer to end, or for the server to be there. Kept, so that none is lost.

import * as stored from "../store/turns.js";
import { effect, signal } from "../vendor/signals-core.js";
import { keeping, keepWord, keptWord, offerUndo } from "./session.js";

/** @typedef {import("../store/turns.js").TurnRecord} TurnRecord */

/** After so long without a server a person may have changed their mind. */
export const OLD_MS = 60_000;

/** Beside the store, whose turns are read chat by chat: which of them have something that waits. */
const KEPT = "ignis.waiting";

/** Oldest first, of every conversation. */
export const waiting = signal(/** @type {TurnRecord[]} */ ([]));
/** Conversations whose messages wait for a word of the person: one is being edited, or they are old. */
export const held = signal(/** @type {Set<string>} */ (new Set()));

// --- Lifecycle

/** Keeps from now on which conversations have something that waits. Returns those that had when the page came. */
export function remember() {
  const kept = keptChats();
  /** @type {Set<string>} */
  let known = new Set();
  effect(() => {
    const now = new Set(waiting.value.map((record) => record.conversation));
    // Another tab has its own.
    const others = keptChats().filter((chat) => !known.has(chat));
    keepWord("localStorage", KEPT, JSON.stringify([...new Set([...others, ...now])]));
    known = now;
  });
  return kept;
}

/** It was looked at. @param {string} chat */
export function settle(chat) {
  if (!waiting.value.some((record) => record.conversation === chat)) keepWord("localStorage", KEPT, JSON.stringify(keptChats().filter((each) => each !== chat)));
}

/** @returns {string[]} */
function keptChats() {
  try {
    return [...JSON.parse(keptWord("localStorage", KEPT) ?? "[]")];
  } catch {
    return [];
  }
}

// --- Actions

/** @param {TurnRecord} record in the state WAITING @param {boolean} isFirst whether it goes before those that wait already */
export function enqueue(record, isFirst) {
  waiting.value = isFirst ? [record, ...waiting.value] : [...waiting.value, record];
  return keeping(() => stored.saveAll([record]));
}

/** @param {string} id @param {string} text */
export function rewrite(id, text) {
  const record = waiting.value.find((each) => each.id === id);
  if (!record) return undefined;
  const changed = { ...record, text };
  waiting.value = waiting.value.map((each) => (each.id === id ? changed : each));
  return keeping(() => stored.saveAll([changed]));
}

/** @param {TurnRecord} record */
export function drop(record) {
  const at = waiting.value.findIndex(({ id }) => id === record.id);
  // It may be on its way by now.
  if (at < 0) return;
  waiting.value = waiting.value.toSpliced(at, 1);
  const gone = keeping(() => stored.remove([record.id]));
  offerUndo("Dropped a message", async () => {
    await gone;
    waiting.value = waiting.value.toSpliced(at, 0, record);
    await keeping(() => stored.saveAll([record]));
  });
}

/** @param {string} conversation */
export function hold(conversation) {
  held.value = new Set(held.value).add(conversation);
}

/** @param {string} conversation */
export function release(conversation) {
  const rest = new Set(held.value);
  rest.delete(conversation);
  held.value = rest;
}
