// What answers now, here or in another tab, by the id of its turn; and the lists of tasks that calls made, by the call.

import { signal } from "../vendor/signals-core.js";

/** @typedef {{turn: import("./turn.js").Turn, stop: () => void, series?: import("./series.js").Series}} Running */

export const running = signal(/** @type {Map<string, Running>} */ (new Map()));

/** @param {Running} run */
export function enter(run, key = run.turn.id) {
  running.value = new Map(running.value).set(key, run);
}

/** @param {string} key */
export function leave(key) {
  const others = new Map(running.value);
  others.delete(key);
  running.value = others;
}

/** What answers in that conversation, or null. @param {string} conversation */
export function runIn(conversation) {
  return [...running.value.values()].find((run) => run.turn.record.conversation === conversation) ?? null;
}

/** Stops what runs of those turns: their answers, and what these called. @param {string[]} ids */
export function stopOf(ids) {
  for (const run of running.value.values()) if (ids.includes(run.turn.id)) run.stop();
}

/** Stops what that turn called; its own answer may go on beside another one. @param {string} id */
export function stopCallsOf(id) {
  for (const [key, run] of running.value) if (key !== id && run.turn.id === id) run.stop();
}

/** The key of a call. @param {import("./turn.js").Turn} turn @param {number} index its place in the turn */
export function keyOf(turn, index) {
  return `${turn.id}/${index}`;
}
