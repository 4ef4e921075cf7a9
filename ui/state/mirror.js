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

/** Follows a turn that was found under way, or whose calls are open; where nobody has it, an answer without its end is cut. @param {Turn} turn */
export async function adopt(turn) {
  const record = await claimed(turn.id);
  turn.isSought.value = false;
  // Meanwhile it may have been told of already.
  if (running.value.has(turn.id)) return;
  if (record) new Mirror(turn).start(record);
  else if (turn.isRunning) {
    await cut(turn);
    attend(turn);
  }
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
    this.#heardAt = performance.now();
    const { record } = this.turn;
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
    const { isRunning } = this.turn;
    if (isRunning) await cut(this.turn);
    this.#end();
    if (isRunning) attend(this.turn);
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

/** With all that was kept of its text. @param {Turn} turn */
async function cut(turn) {
  const join = (/** @type {TurnRecord} */ record, /** @type {import("../store/turns.js").Piece[]} */ pieces) => {
    // Another tab may have been first.
    return isRunningState(record.state) ? { ...stored.joined(record, pieces), state: "CUT" } : record;
  };
  const record = await keeping(() => stored.amend(turn.id, join));
  turn.become(record ?? { state: "CUT" });
}

/** A tab that was busy says late that it has a turn, which then was not cut. @param {Turn} turn */
function attend(turn) {
  const unhear = hear(({ kind, turn: id, record }) => {
    if (id !== turn.id || !["mine", "grew", "ended"].includes(kind)) return;
    // It goes on here, or is followed already.
    if (running.value.has(id)) return void unhear();
    if (kind === "grew") return tell({ kind: "who", turn: id });
    unhear();
    if (kind === "mine") new Mirror(turn).start(record);
    else turn.become(record);
    // What shows it had come to its end.
    turn.resumptions.value += 1;
  });
}
