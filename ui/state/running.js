// What answers now, here or in another tab, by the id of its turn.

import { signal } from "../vendor/signals-core.js";

/** @typedef {{turn: import("./turn.js").Turn, stop: () => void}} Running */

export const running = signal(/** @type {Map<string, Running>} */ (new Map()));

/** @param {Running} run */
export function enter(run) {
  running.value = new Map(running.value).set(run.turn.id, run);
}

/** @param {string} turn */
export function leave(turn) {
  const others = new Map(running.value);
  others.delete(turn);
  running.value = others;
}

/** What answers in that conversation, or null. @param {string} conversation */
export function runIn(conversation) {
  return [...running.value.values()].find((run) => run.turn.record.conversation === conversation) ?? null;
}
