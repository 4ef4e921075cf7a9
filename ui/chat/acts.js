// What is done with one turn, by its buttons and by its keys.

import { copy } from "../parts/copy.js";
import { go } from "../router.js";
import { branch, goTo, removeTurn } from "../state/chats.js";
import { announce, offerUndo } from "../state/session.js";
import { again } from "../state/talk.js";
import { editing, path, siblingsOf, turns } from "../state/tree.js";

/** @typedef {import("../state/turn.js").Turn} Turn */

/** Another answer, by a new seed. @param {Turn} turn */
export function regenerate(turn) {
  if (isWhole(turn)) again(turn);
}

/** The same request and seed once more. @param {Turn} turn */
export function sameAgain(turn) {
  if (isWhole(turn) && turn.record.seed !== null) again(turn, turn.record.seed);
}

/** @param {Turn} turn */
export function edit(turn) {
  if (!turn.isRunning) editing.value = turn.id;
}

/** The path up to that turn as a chat of its own. @param {Turn} turn */
export async function branchOff(turn) {
  const at = path.value.indexOf(turn);
  if (at >= 0) go("chat", await branch(path.value.slice(0, at + 1)));
}

/** Returns what is to be said of it. @param {Turn} turn */
export async function copyTurn(turn) {
  const said = (await copy(turn.record.text)) ? "Copied" : "No access";
  announce(said);
  return said;
}

/** With all that follows; the focus goes to what then stands there. @param {Turn} turn */
export async function drop(turn) {
  const at = path.value.indexOf(turn);
  const text = turn.record.role === "user" ? "Message deleted" : "Answer deleted";
  offerUndo(text, await removeTurn(turn));
  requestAnimationFrame(() => focusTurn(Math.min(at, path.value.length - 1)));
}

/** To another version of the turn. @param {Turn} turn @param {number} by */
export function step(turn, by) {
  const all = siblingsOf(turns.value, turn);
  const next = all[all.indexOf(turn) + by];
  if (!next) return;
  const at = path.value.indexOf(turn);
  goTo(next.id);
  requestAnimationFrame(() => focusTurn(at));
}

/** The turn in that place of the path, or the composer. @param {number} at */
export function focusTurn(at) {
  const places = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#log .turn"));
  const place = places[at] ?? document.getElementById("prompt");
  place.focus();
  place.scrollIntoView({ block: "nearest" });
}

/** @param {Turn} turn */
function isWhole(turn) {
  return turn.record.role === "assistant" && !turn.isRunning;
}
