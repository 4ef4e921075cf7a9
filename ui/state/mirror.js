// Answers that another tab reads: they are followed by what it tells. A turn that no tab claims was cut off.

import * as stored from "../store/turns.js";
import { hear, tell } from "../store/tabs.js";
import { enter, leave, running } from "./running.js";
import { keeping } from "./session.js";
import { isRunningState } from "./turn.js";

/** @typedef {import("./turn.js").Turn} Turn */
/** @typedef {import("../store/turns.js").TurnRecord} TurnRecord */

const CLAIM_MS = 300;
const SILENCE_MS = 2000;

/**
 * Follows a turn that was found under way, or whose calls are open; where nobody has it, an answer without its end is cut.
 * @param {Turn} turn @param {boolean} [wasOurs] whether it was under way here, until another tab took it
 */
export async function adopt(turn, wasOurs = false) {
  const record = await claimed(turn.id);
  turn.isSought.value = false;
  // Meanwhile it may have been told of already.
  if (!wasOurs && running.value.has(turn.id)) return;
  const { isRunning } = turn;
  if (record) new Mirror(turn).start(record);
  else if (isRunning || wasOurs) {
    await cut(turn);
    if (wasOurs) leave(turn.id);
  }
  // What shows it had come to its end.
  if (!isRunning && (turn.isRunning || wasOurs)) turn.resumptions.value += 1;
}

class Mirror {
  turn;
  #unhear = () => false;
  #timer = 0;
  #heardAt = performance.now();

  // --- Lifecycle

  /** @param {Turn} turn */
  constructor(turn) {
    this.turn = turn;
  }

  /** @param {TurnRecord} record */
  start(record) {
    this.turn.become(record);
    enter(this);
    this.#unhear = hear((message) => message.turn === this.turn.id && this.#hear(message));
    this.#timer = setInterval(() => this.#check(), SILENCE_MS / 2);
  }

  // --- Actions

  stop() {
    tell({ kind: "stop", turn: this.turn.id });
  }

  // --- Internal

  /** @param {import("../store/tabs.js").Message} message */
  #hear(message) {
    const { record } = this.turn;
    const told = message.record ?? message.rest;
    // From a tab that is about to hear that another one has it.
    if (told && stored.isAbove(record, told)) return;
    this.#heardAt = performance.now();
    if (message.kind === "ended" || message.kind === "mine") this.turn.become(message.record);
    else if (message.kind === "grew") {
      // Something was missed: asked for whole.
      if (message.at.text !== record.text.length || message.at.reasoning !== record.reasoning.length) return tell({ kind: "who", turn: record.id });
      record.text += message.text;
      record.reasoning += message.reasoning;
      this.turn.become(message.rest);
    }
    // What follows from it may be about to begin there.
    if (message.kind === "ended") this.#end();
  }

  async #check() {
    if (performance.now() - this.#heardAt < SILENCE_MS || (await claimed(this.turn.id))) return;
    if (this.turn.isRunning) await cut(this.turn);
    this.#end();
  }

  #end() {
    clearInterval(this.#timer);
    this.#unhear();
    leave(this.turn.id);
  }
}

/** A turn, or a run, as the tab that has it under way has it; null: no tab says that it does. @param {string} turn @returns {Promise<any>} */
export function claimed(turn) {
  return new Promise((resolve) => {
    const unhear = hear((message) => message.kind === "mine" && message.turn === turn && end(message.record));
    const timer = setTimeout(() => end(null), CLAIM_MS);
    const end = (/** @type {any} */ record) => {
      clearTimeout(timer);
      unhear();
      resolve(record);
    };
    tell({ kind: "who", turn });
  });
}

/** With all that was kept of its text, or came here. @param {Turn} turn */
async function cut(turn) {
  const own = turn.record;
  const join = (/** @type {TurnRecord} */ record, /** @type {import("../store/turns.js").Piece[]} */ pieces) => {
    const isOpen = isRunningState(record.state);
    // Another tab may have been first.
    if (record.state === "DONE" || (!isOpen && !stored.isAbove(record, own))) return record;
    if (own.state === "DONE") return { ...own, hand: record.hand };
    const kept = isOpen ? { ...stored.joined(record, pieces), state: "CUT" } : record;
    const { text, reasoning } = own.text.startsWith(kept.text) && own.reasoning.startsWith(kept.reasoning) ? own : kept;
    return { ...kept, text, reasoning };
  };
  const record = await keeping(() => stored.amend(turn.id, join));
  turn.become(record ?? { state: "CUT" });
}
