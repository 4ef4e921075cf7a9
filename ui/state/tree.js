// The open conversation as a tree of turns, and the path through it that is shown.

import { computed, signal } from "../vendor/signals-core.js";

/** @typedef {import("./turn.js").Turn} Turn */

export const turns = signal(/** @type {Map<string, Turn>} */ (new Map()));
export const head = signal(/** @type {string | null} */ (null));
/** The turn whose text is being written anew, or null. */
export const editing = signal(/** @type {string | null} */ (null));
/** From the first turn to the head. */
export const path = computed(() => pathTo(turns.value, head.value));
/** Of which answer the panel tells; end: the answer that was the last then. */
const chosen = signal(/** @type {{id: string, end: string | undefined}} */ ({ id: "", end: "" }));
/** The answers that are shown. */
export const answers = computed(() => path.value.filter(({ record }) => record.role === "assistant"));
/** The one that was chosen, until another one comes; else the last. */
export const inView = computed(() => {
  const last = answers.value.at(-1) ?? null;
  const { id, end } = chosen.value;
  return (end === last?.id && answers.value.find((turn) => turn.id === id)) || last;
});

/** @param {Turn} turn */
export function lookAt(turn) {
  chosen.value = { id: turn.id, end: answers.value.at(-1)?.id };
}

/** @param {Map<string, Turn>} all @param {string | null} id @returns {Turn[]} */
export function pathTo(all, id) {
  const found = [];
  for (let turn = id ? all.get(id) : undefined; turn; turn = turn.record.parent ? all.get(turn.record.parent) : undefined) {
    found.push(turn);
  }
  return found.reverse();
}

/** Those with the same parent, oldest first. @param {Map<string, Turn>} all @param {Turn} turn @returns {Turn[]} */
export function siblingsOf(all, turn) {
  return [...all.values()]
    .filter((other) => other.record.parent === turn.record.parent)
    .sort((one, other) => one.record.created - other.record.created || (one.id < other.id ? -1 : 1));
}

/** The deepest turn below, always by the newest child. @param {Map<string, Turn>} all @param {string} id */
export function deepest(all, id) {
  for (let at = id; ; ) {
    const children = [...all.values()].filter((turn) => turn.record.parent === at);
    if (!children.length) return at;
    at = children.reduce((newest, turn) => (turn.record.created >= newest.record.created ? turn : newest)).id;
  }
}

/** All that come after that turn, on any branch. @param {Map<string, Turn>} all @param {string} id @returns {Turn[]} */
export function below(all, id) {
  const children = [...all.values()].filter((turn) => turn.record.parent === id);
  return children.flatMap((child) => [child, ...below(all, child.id)]);
}
