// The way back from what was done last, one by one.

import { offer, undoable } from "./session.js";

/** What is undone now: what was done before it may rest on it. @type {Promise<unknown>} */
let undoing = Promise.resolve();

/** Undoes the latest; then the one before it is offered. */
export function undo() {
  const [latest, ...before] = undoable.value;
  if (!latest) return;
  offer(before);
  const undone = undoing.then(latest.undo);
  undoing = undone.catch(() => {});
}
