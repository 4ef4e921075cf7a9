// An answer as it comes, on its way into the store and to the other tabs, which may ask for it and stop it.

import { hear, tell } from "../store/tabs.js";
import * as stored from "../store/turns.js";
import { keeping } from "./session.js";
import { lengthsOf, newsOf } from "./turn.js";

/** @typedef {import("./turn.js").Turn} Turn */

const PIECE_MS = 100;

export class Spreading {
  #turn;
  #stop;
  #numPieces = 0;
  /** How much of the turn's channels is in the store, and how much the other tabs were told. */
  #kept;
  #told;
  #isKeeping = false;
  #unhear;
  #timer;

  // --- Lifecycle

  /** @param {Turn} turn @param {() => void} stop */
  constructor(turn, stop) {
    this.#turn = turn;
    this.#stop = stop;
    this.#kept = lengthsOf(turn);
    this.#told = lengthsOf(turn);
    this.#unhear = hear((message) => message.turn === turn.id && this.#hear(message));
    this.#timer = setInterval(() => this.#spread(), PIECE_MS);
  }

  /** Nothing more comes; the other tabs are not told of it yet. Returns once all of it is kept. */
  async finish() {
    clearInterval(this.#timer);
    await keeping(() => stored.finish(this.#turn.record));
  }

  end() {
    this.#unhear();
    tell({ kind: "ended", turn: this.#turn.id, record: this.#turn.record });
  }

  // --- Internal

  #spread() {
    const { record } = this.#turn;
    const { state, model, tools, times } = record;
    const rest = { state, model, tools, times };
    tell({ kind: "grew", turn: record.id, at: this.#told, ...newsOf(record, this.#told), rest });
    this.#told = lengthsOf(this.#turn);
    if (!this.#isKeeping) this.#keep();
  }

  async #keep() {
    const { record } = this.#turn;
    const news = newsOf(record, this.#kept);
    if (!news.text && !news.reasoning) return;
    this.#isKeeping = true;
    this.#kept = lengthsOf(this.#turn);
    await keeping(() => stored.savePiece({ turn: record.id, n: this.#numPieces++, ...news }));
    this.#isKeeping = false;
  }

  /** @param {import("../store/tabs.js").Message} message */
  #hear({ kind }) {
    if (kind === "stop") this.#stop();
    else if (kind === "who") {
      // What this says, the next piece must not say again.
      this.#told = lengthsOf(this.#turn);
      tell({ kind: "mine", turn: this.#turn.id, record: this.#turn.record });
    }
  }
}
