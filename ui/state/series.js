// One run of several lanes: what they share, the lanes, and keeping both as the answers come.

import * as stored from "../store/runs.js";
import { savePiece } from "../store/turns.js";
import { computed, signal } from "../vendor/signals-core.js";
import { newId } from "./ids.js";
import { Lane } from "./lane.js";
import { announce, keeping } from "./session.js";
import { Slots } from "./slots.js";

/** @typedef {import("../store/runs.js").RunRecord} RunRecord */

const PIECE_MS = 100;
const TITLE_LENGTH = 60;
/** So many lanes the server has for one person at the most, and so many ask at once. */
export const MAX_LANES = 8;
/** Where a run begins: without a cap each lane is given room for a whole context, and few of eight run at once. */
export const FIRST_CAP = 1024;

export class Series {
  id;
  kind;
  created;
  title;
  /** What the editor has. */
  prompt;
  /** The prompt of the answers; "" before there are any. */
  asked;
  /** What was said before the prompt. */
  history;
  /** What all lanes ask, by the names of the request's fields (and "system"). */
  values;
  lanes;
  isRunning = computed(() => this.lanes.value.some((lane) => lane.isRunning));
  hasAnswers = computed(() => this.lanes.value.some((lane) => lane.turn.value !== null));
  updated;
  #isGone = false;
  #keptTurns = "";
  #slots = new Slots(MAX_LANES);
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #timer;

  // --- Lifecycle

  /** @param {RunRecord} record @param {Lane[]} lanes */
  constructor(record, lanes) {
    this.id = record.id;
    this.kind = record.kind;
    this.created = record.created;
    this.updated = record.updated;
    this.title = signal(record.title);
    this.prompt = signal(record.prompt);
    this.asked = lanes.some((lane) => lane.turn.value) ? record.prompt : "";
    this.history = signal(record.history);
    this.values = signal(record.values);
    this.lanes = signal(lanes);
  }

  /** @param {RunRecord["kind"]} kind @param {Partial<RunRecord>} about @param {Lane[]} lanes */
  static fresh(kind, about, lanes) {
    const now = Date.now();
    const blank = /** @type {RunRecord} */ ({ id: newId(), kind, title: "", prompt: "", history: [], values: {}, lanes: [], created: now, updated: now, v: 1 });
    return new Series({ ...blank, ...about }, lanes);
  }

  /** As it was kept. @param {RunRecord} record */
  static async revive(record) {
    const lanes = await Promise.all(record.lanes.map((lane) => Lane.revive(lane)));
    return new Series(record, lanes);
  }

  /** @returns {RunRecord} */
  toRecord() {
    const { id, kind, created, updated } = this;
    const lanes = this.lanes.value.map((lane) => lane.toRecord());
    return { id, kind, title: this.title.value, prompt: this.asked || this.prompt.value, history: this.history.value, values: this.values.value, lanes, created, updated, v: 1 };
  }

  // --- Actions

  async keep() {
    if (this.#isGone) return;
    this.updated = Date.now();
    await keeping(() => stored.save(this.toRecord()));
  }

  /** Stops all, and keeps nothing of it from now on. */
  leave() {
    this.#isGone = true;
    this.stop();
  }

  /** @param {string} text */
  nameAfter(text) {
    const line = text.trim().split("\n", 1)[0];
    this.title.value = line.length <= TITLE_LENGTH ? line : `${line.slice(0, TITLE_LENGTH).replace(/\s+\S*$/, "")}…`;
  }

  /**
   * Runs them group after group. Of all that the series runs, so many ask at once as there may be. Returns once the
   * last of these has ended.
   * @param {Lane[][]} groups @param {(lane: Lane) => any} requestFor
   */
  async run(groups, requestFor) {
    this.asked = this.prompt.value;
    await this.#go(groups, (lane) => lane.run(requestFor(lane)));
  }

  /** Goes on with answers that were cut. @param {Lane[]} lanes */
  async resume(lanes) {
    await this.#go([lanes], (lane) => lane.resume());
  }

  stop() {
    for (const lane of this.lanes.value) if (lane.isRunning) lane.stop();
  }

  // --- Internal

  /** @param {Lane[][]} groups @param {(lane: Lane) => Promise<void>} work */
  async #go(groups, work) {
    for (const lane of groups.flat()) lane.lineUp();
    await this.keep();
    this.#timer ??= setInterval(() => this.#keepPieces(), PIECE_MS);
    const one = async (/** @type {Lane} */ lane) => {
      await work(lane);
      const turn = lane.turn.value;
      if (turn && !this.#isGone) await keeping(() => stored.finish(this.toRecord(), turn.id));
    };
    for (const group of groups) await Promise.all(group.map((lane) => this.#slots.use(() => one(lane))));
    if (this.isRunning.value) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#announceEnd();
  }

  #keepPieces() {
    if (this.#isGone) return;
    // Pieces are found again by the turns that the run names.
    const turns = this.lanes.value.map((lane) => lane.turn.value?.id).join();
    if (turns !== this.#keptTurns) this.keep();
    this.#keptTurns = turns;
    for (const lane of this.lanes.value) {
      const piece = lane.newPiece();
      if (piece) keeping(() => savePiece(piece));
    }
  }

  #announceEnd() {
    const states = this.lanes.value.map((lane) => lane.turn.value?.record.state);
    const numFailed = states.filter((state) => state === "FAILED" || state === "CUT").length;
    const numDone = states.filter((state) => state === "DONE").length;
    announce(`${numDone} of ${states.length} done${numFailed ? `, ${numFailed} failed` : ""}`, numFailed > 0);
  }
}
