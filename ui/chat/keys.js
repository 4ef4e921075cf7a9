// The keys of the turns: single letters act only on the turn that has the focus itself.

import { announce, look } from "../state/session.js";
import { path } from "../state/tree.js";
import { branchOff, copyTurn, drop, edit, focusTurn, regenerate, sameAgain, step } from "./acts.js";

/** @type {Record<string, (turn: import("../state/turn.js").Turn) => unknown>} */
const LETTERS = { r: regenerate, s: sameAgain, e: edit, b: branchOff, c: copyTurn, d: drop };

/** @param {KeyboardEvent} event */
export function pressed(event) {
  const target = event.target instanceof HTMLElement ? event.target : document.body;
  if (event.defaultPrevented || target.closest("dialog")) return;
  if (act(event, target)) event.preventDefault();
}

/** Returns whether the key meant something here. @param {KeyboardEvent} event @param {HTMLElement} target */
function act(event, target) {
  const { altKey, code, key, shiftKey } = event;
  const hasControl = event.ctrlKey || event.metaKey;
  const isWriting = target.matches("input, textarea, select");
  const turns = path.value;
  const at = [...document.querySelectorAll("#log .turn")].findIndex((place) => place.contains(target));
  const turn = turns[at];
  if (hasControl && shiftKey && code === "KeyC") return copyLast(turns);
  if (hasControl && shiftKey && code === "Semicolon") return copyLastCode();
  if (altKey && !hasControl && (key === "ArrowUp" || key === "ArrowDown")) {
    if (isWriting && turn) return false;
    const from = at < 0 ? turns.length : at;
    focusTurn(Math.max(0, from + (key === "ArrowUp" ? -1 : 1)));
    return true;
  }
  if (target.id === "prompt" && key === "ArrowUp" && !(/** @type {HTMLTextAreaElement} */ (target).value)) return editLast(turns);
  if (isWriting || !turn || hasControl) return false;
  if (altKey && (key === "ArrowLeft" || key === "ArrowRight")) {
    step(turn, key === "ArrowLeft" ? -1 : 1);
    return true;
  }
  if (!look.value.hasLetters || altKey || shiftKey || !target.matches(".turn[data-keyed]") || !(key in LETTERS)) return false;
  LETTERS[key](turn);
  return true;
}

/** @param {import("../state/turn.js").Turn[]} turns */
function editLast(turns) {
  const last = turns.findLast((turn) => turn.record.role === "user");
  if (!last) return false;
  edit(last);
  return true;
}

/** @param {import("../state/turn.js").Turn[]} turns */
function copyLast(turns) {
  const last = turns.findLast((turn) => turn.record.role === "assistant");
  if (last) copyTurn(last);
  return Boolean(last);
}

export function copyLastCode() {
  const last = /** @type {HTMLElement | undefined} */ ([...document.querySelectorAll("#log .answer figure .copy")].at(-1));
  last?.addEventListener("copied", (/** @type {any} */ { detail: isCopied }) => announce(isCopied ? "Copied the last code block" : "No access to the clipboard", !isCopied), { once: true });
  last?.click();
  return Boolean(last);
}
