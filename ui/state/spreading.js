// An answer as it comes, on its way into the store and to the other tabs, which may ask for it, stop it and take it over.

import { hear, tell } from "../store/tabs.js";
import * as stored from "../store/turns.js";
import { keeping } from "./session.js";
import { lengthsOf, newsOf } from "./turn.js";

/** @typedef {import("./turn.js").Turn} Turn */

const PIECE_MS = 100;
/** No answer has as many, so that no hand writes over the pieces of another. */
const NUM_PIECES = 2 ** 24;

export class Spreading {
  #turn;
  #run;
  #numPieces = 0;
  /** How much of the turn's channels is in the store, and how much the other tabs were told. */
  #kept;
  #told;
  #isKeeping = false;
  #unhear;
  #timer;

  // --- Lifecycle

  /** @param {Turn} turn @param {import("./run.js").Run} run */
  constructor(turn, run) {
    this.#turn = turn;
    this.#run = run;
    this.#kept = lengthsOf(turn);
    this.#told = lengthsOf(turn);
    this.#unhear = hear((message) => message.turn === turn.id && this.#hear(message));
    this.#timer = setInterval(() => this.#spread(), PIECE_MS);
  }

  /** Nothing more comes; the other tabs are not told of it yet. Returns once all of it is kept, or true where another tab has it. */
  async finish() {
    clearInterval(this.#timer);
    return keeping(() => stored.finish(this.#turn.record));
  }

  /** Another tab has it, and is given all that came here. */
  give() {
    clearInterval(this.#timer);
    this.#unhear();
    const { id, text, reasoning, state } = this.#turn.record;
    tell({ kind: "given", turn: id, text, reasoning });
    // What a person stopped here is stopped there.
    if (state === "STOPPED") tell({ kind: "stop", turn: id });
  }

  end() {
    this.#unhear();
    tell({ kind: "ended", turn: this.#turn.id, record: this.#turn.record });
  }

  // --- Internal

  #spread() {
    const { record } = this.#turn;
    const { state, model, tools, times, hand } = record;
    const rest = { state, model, tools, times, hand };
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
    await keeping(() => stored.savePiece({ turn: record.id, n: (record.hand ?? 0) * NUM_PIECES + this.#numPieces++, hand: record.hand, ...news }));
    this.#isKeeping = false;
  }

  /** @param {import("../store/tabs.js").Message} message */
  #hear({ kind, rest, record = rest, ...given }) {
    if (kind === "stop") this.#run.stop();
    else if (kind === "given") this.#run.learn(given.text, given.reasoning);
    else if (record && stored.isAbove(record, this.#turn.record)) this.#run.give();
    else if (kind === "who") {
      // What this says, the next piece must not say again.
      this.#told = lengthsOf(this.#turn);
      tell({ kind: "mine", turn: this.#turn.id, record: this.#turn.record });
    }
  }
}
