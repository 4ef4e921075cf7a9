// One lane of a comparison, or one task of a list: what it asks otherwise than its run, and its answer as it comes.

import { generateBeside } from "../api/beside.js";
import { gather, readPieces } from "../store/turns.js";
import { signal } from "../vendor/signals-core.js";
import { contact } from "./contact.js";
import { newId } from "./ids.js";
import { fail } from "./outcome.js";
import { Replay } from "./replay.js";
import { requestOfSame } from "./respondent.js";
import { noteAnswer } from "./server.js";
import { keeping } from "./session.js";
import { addCall, clock, lengthsOf, newsOf, recordOf, timesFromNow, Turn } from "./turn.js";

/** @typedef {import("../store/runs.js").LaneRecord} LaneRecord */

export class Lane {
  id;
  prompt;
  /** In what it departs from its run. */
  values;
  /** Its last answer, finished or not. */
  turn;
  /** Whether it waits on this page for others of its run. */
  isInLine = signal(false);
  /** How it differs from the first lane, as far as both are known. */
  difference = signal(/** @type {{word: number | null, isSame: boolean}} */ ({ word: null, isSame: false }));
  isDiffShown = signal(false);
  /** Pieces of the answer so far, about a token each. */
  numPieces = 0;
  #abort = new AbortController();
  /** Pieces of it in the store, and how much of each channel is in them. */
  #numKept = 0;
  #kept = { text: 0, reasoning: 0 };

  // --- Lifecycle

  /** @param {LaneRecord} record */
  constructor(record) {
    this.id = record.id;
    this.prompt = signal(record.prompt);
    this.values = signal(record.values);
    this.turn = signal(record.turn && new Turn(record.turn));
  }

  /** @param {Record<string, any>} values @param {string} [prompt] */
  static fresh(values, prompt = "") {
    return new Lane({ id: newId(), prompt, values, turn: null });
  }

  /** As it was kept. An answer that still came when its page died is cut, with all that was kept of its text. @param {LaneRecord} record */
  static async revive(record) {
    const lane = new Lane(record);
    const turn = lane.turn.value;
    if (!turn?.isRunning) return lane;
    for (const piece of await readPieces(turn.id)) {
      turn.record.reasoning += piece.reasoning;
      turn.record.text += piece.text;
    }
    turn.cut();
    return lane;
  }

  /** @returns {LaneRecord} */
  toRecord() {
    const { turn, ...rest } = this.whole();
    // What an answer under way has is in its pieces, and nowhere twice.
    return { ...rest, turn: turn && this.turn.value?.isRunning ? { ...turn, text: "", reasoning: "" } : turn };
  }

  /** @returns {LaneRecord} */
  whole() {
    return { id: this.id, prompt: this.prompt.value, values: this.values.value, turn: this.turn.value?.record ?? null };
  }

  // --- Actions

  get isRunning() {
    return this.isInLine.value || Boolean(this.turn.value?.isRunning);
  }

  /** It will run, once others have. */
  lineUp() {
    this.#abort = new AbortController();
    this.isInLine.value = true;
  }

  stop() {
    this.isInLine.value = false;
    this.#abort.abort();
  }

  /**
   * Asks, and returns once the answer has ended; what went wrong is in its turn. A lane that was stopped while it was
   * in line asks nothing.
   * @param {any} request
   */
  async run(request) {
    await contact(this.#abort.signal);
    if (!this.isInLine.value) return;
    const turn = new Turn({ ...recordOf("assistant", "", null, "", "SENT"), request, seed: request.seed ?? null });
    this.#kept = lengthsOf(turn);
    this.#numKept = this.numPieces = 0;
    this.difference.value = { word: null, isSame: false };
    this.turn.value = turn;
    this.isInLine.value = false;
    await this.#read(turn, new Replay("", ""));
  }

  /** Whether its answer ended before its end, and the same request would bring the same text again. */
  get canResume() {
    const turn = this.turn.value;
    return !this.isRunning && Boolean(turn?.record.request) && ["CUT", "STOPPED", "FAILED"].includes(turn?.record.state ?? "") && this.hasText;
  }

  get hasText() {
    return Boolean(this.turn.value?.record.text || this.turn.value?.record.reasoning);
  }

  /** Goes on with an answer that was cut: the same request and seed, so the same text. Returns once it has ended. */
  async resume() {
    await contact(this.#abort.signal);
    const turn = this.turn.value;
    if (!this.isInLine.value || !turn) return;
    const { record } = turn;
    // What there is must be in a piece before the turn runs: of one that runs, the text is nowhere else.
    await keeping(() => gather(turn.id, record.text, record.reasoning));
    this.#kept = lengthsOf(turn);
    this.#numKept = 1;
    this.numPieces = 0;
    Object.assign(record, { failure: null, finish: null, usage: null, timings: null, tools: [] });
    record.times = timesFromNow();
    turn.advance("resume");
    this.isInLine.value = false;
    await this.#read(turn, new Replay(record.text, record.reasoning));
  }

  /** What has come since the last time, to be kept; null: nothing. */
  newPiece() {
    const turn = this.turn.value;
    if (!turn?.isRunning) return null;
    const news = newsOf(turn.record, this.#kept);
    if (!news.text && !news.reasoning) return null;
    this.#kept = lengthsOf(turn);
    return { turn: turn.id, n: this.#numKept++, ...news };
  }

  // --- Internal

  /** @param {Turn} turn @param {Replay} replay */
  async #read(turn, replay) {
    try {
      for await (const event of generateBeside(requestOfSame(turn.record), this.#abort.signal)) {
        this.#take(turn, event, replay);
        if (replay.hasDiffered) break;
      }
      if (replay.hasDiffered || replay.isUnderWay) {
        // It comes out as another text than there is: that stays, and a person may ask anew.
        turn.record.failure = `It comes out differently from word ${replay.end().word} on`;
        turn.cut();
      } else turn.advance("done");
    } catch (error) {
      fail(turn, error);
    }
    turn.isCatchingUp.value = false;
    turn.queue.value = null;
  }

  /** @param {Turn} turn @param {import("../api/generate.js").GenerationEvent} event @param {Replay} replay */
  #take(turn, event, replay) {
    const { record, record: { times } } = turn;
    const now = clock();
    turn.queue.value = event.kind === "queued" ? event : null;
    if (event.kind === "usage") Object.assign(record, { usage: event.usage, timings: event.timings });
    else if (event.kind === "done") record.finish = event.reason;
    else {
      if (event.kind === "started") noteAnswer((record.model = event.model));
      else if (event.kind === "tool") addCall(record, event, now);
      else if (event.kind === "text" || event.kind === "reasoning") {
        if (!event.text) return;
        const news = replay.take(event.kind, event.text);
        turn.isCatchingUp.value = replay.isUnderWay;
        if (replay.hasDiffered) return;
        // What comes once more took its time all the same.
        this.numPieces += 1;
        times.first ??= now;
        times.last = now;
        if (event.kind === "text") times.text ??= now;
        else (turn.numThoughts += 1), (times.thought = now);
        record[event.kind] += news;
      }
      turn.advance(event.kind);
    }
  }
}
