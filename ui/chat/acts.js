// What is done with one turn, by its buttons and by its keys.

import { copy } from "../parts/copy.js";
import { unlessGoneOn } from "../parts/sending.js";
import { go } from "../router.js";
import { goTo } from "../state/adding.js";
import { branch } from "../state/branching.js";
import { removeTurn } from "../state/removing.js";
import { announce, offerUndo, sending } from "../state/session.js";
import { again } from "../state/talk.js";
import { editing, path, siblingsOf, turns } from "../state/tree.js";
import { markdownOf } from "../state/turn.js";

/** @typedef {import("../state/turn.js").Turn} Turn */

/** How long a turn that is gone to is waited for. */
const REACH_MS = 5000;
const STEP_MS = 20;

/** Another answer, by a new seed. @param {Turn} turn */
export function regenerate(turn) {
  if (isWhole(turn)) sending(() => inItsPlace(turn, () => again(turn)));
}

/** The same request and seed once more. @param {Turn} turn */
export function sameAgain(turn) {
  const { seed } = turn.record;
  if (isWhole(turn) && seed !== null) sending(() => inItsPlace(turn, () => again(turn, seed)));
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

/** Its words without the marks of Markdown. Returns what is to be said of it. @param {Turn} turn */
export async function copyPlain(turn) {
  const { plainOf } = await import("../text/plain.js");
  const said = (await copy(plainOf(markdownOf(turn.record)))) ? "Copied" : "No access";
  announce(said);
  return said;
}

/** With all that follows; the focus goes to what then stands there. @param {Turn} turn */
export async function drop(turn) {
  const at = path.value.indexOf(turn);
  const text = turn.record.role === "user" ? "Message deleted" : "Answer deleted";
  const stand = () => focusTurn(Math.min(at, path.value.length - 1));
  const follow = unlessGoneOn();
  const back = await removeTurn(turn);
  offerUndo(text, async () => {
    const follow = unlessGoneOn();
    await back();
    follow(stand);
  });
  follow(stand);
}

/** To another version of the turn. @param {Turn} turn @param {number} by */
export function step(turn, by) {
  const all = siblingsOf(turns.value, turn);
  const next = all[all.indexOf(turn) + by];
  if (!next) return;
  inItsPlace(turn, () => goTo(next.id));
}

/** Shows a turn of the open chat, on whatever branch it is, and gives it the focus. @param {string} id */
export async function reach(id) {
  if (!turns.value.has(id)) return;
  if (!path.value.some((turn) => turn.id === id)) await goTo(id);
  const at = path.value.findIndex((turn) => turn.id === id);
  // What draws the turns may still be on its way.
  let leftMs = REACH_MS;
  do {
    // Not in a frame: there the view would still be put to the chat's end.
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  } while ((leftMs -= STEP_MS) > 0 && document.querySelectorAll("#log .turn").length <= at);
  focusTurn(at);
  const place = document.querySelectorAll("#log .turn")[at];
  if (place) await (await import("./mark.js")).markIn(place);
}

/** The turn in that place of the path, or the composer. @param {number} at */
export function focusTurn(at) {
  const places = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#log .turn"));
  if (places[at]) focusByKey(places[at]);
  else document.getElementById("prompt")?.focus();
}

/** Its letters act until the focus leaves it or a pointer comes: who clicks on a text and types means no answer to vanish. @param {HTMLElement} place */
export function focusByKey(place) {
  const end = new AbortController();
  for (const kind of ["blur", "pointerdown"]) {
    place.addEventListener(kind, () => (delete place.dataset.keyed, end.abort()), { signal: end.signal });
  }
  place.focus();
  place.dataset.keyed = "";
  place.scrollIntoView({ block: "nearest" });
}

// --- Internal

/** What takes the turn's place takes the focus that it had. @param {Turn} turn @param {() => unknown} work */
function inItsPlace(turn, work) {
  const at = path.value.indexOf(turn);
  const hadFocus = document.querySelectorAll("#log .turn")[at]?.matches("[data-keyed]");
  const follow = hadFocus && unlessGoneOn();
  work();
  if (follow) follow(() => focusTurn(at));
}

/** @param {Turn} turn */
function isWhole(turn) {
  return turn.record.role === "assistant" && !turn.isRunning;
}
