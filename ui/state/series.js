// One run of several lanes: what they share, the lanes, and keeping both as the answers come.

import * as stored from "../store/runs.js";
import { savePiece } from "../store/turns.js";
import { batch, computed, signal } from "../vendor/signals-core.js";
import { Elsewhere } from "./elsewhere.js";
import { newId } from "./ids.js";
import { Lane } from "./lane.js";
import { claimed } from "./mirror.js";
import { announceEnd } from "./outcome.js";
import { keeping } from "./session.js";
import { MAX_LANES, Slots } from "./slots.js";
import { Telling, tellWhole } from "./telling.js";
import { isRunningState } from "./turn.js";

/** @typedef {import("../store/runs.js").RunRecord} RunRecord */

const PIECE_MS = 100;

export class Series {
  id;
  kind;
  created;
  title;
  /** What the editor has. */
  prompt;
  /** The prompt of the answers; "" before there are any. */
  asked;
  /** What is beside the prompt, of a chat. */
  pictures;
  /** What was said before the prompt. */
  history;
  /** What was called for the prompt's sake, and what came of it. */
  after;
  /** What all lanes ask, by the names of the request's fields (and "system"). */
  values;
  lanes;
  isRunning = computed(() => this.lanes.value.some((lane) => lane.isRunning));
  hasAnswers = computed(() => this.lanes.value.some((lane) => lane.turn.value !== null));
  hasPrompt = computed(() => Boolean(this.prompt.value.trim() || this.pictures.length));
  updated;
  /** Whether another tab runs it. */
  isElsewhere = signal(false);
  #elsewhere = new Elsewhere(this);
  #isGone = false;
  #keptTurns = "";
  #timesGiven = 0; // to another tab
  #slots = new Slots(MAX_LANES);
  /** Null while it does not run here. @type {Telling | null} */
  #telling = null;
  #timer = 0;

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
    this.pictures = record.pictures ?? [];
    this.history = signal(record.history);
    this.after = record.after ?? [];
    this.values = signal(record.values);
    this.lanes = signal(lanes);
  }

  /** @param {RunRecord["kind"]} kind @param {Partial<RunRecord>} about @param {Lane[]} lanes */
  static fresh(kind, about, lanes) {
    const now = Date.now();
    const blank = /** @type {RunRecord} */ ({ id: newId(), kind, title: "", prompt: "", history: [], values: {}, lanes: [], created: now, updated: now, v: 1 });
    return new Series({ ...blank, ...about }, lanes);
  }

  /** As it was kept, or as another tab that runs it has it by now. @param {RunRecord} record */
  static async revive(record) {
    const told = record.lanes.some(({ turn }) => !turn || isRunningState(turn.state)) ? await claimed(record.id) : null;
    if (!told) return new Series(record, await Promise.all(record.lanes.map(Lane.revive)));
    const series = new Series(record, []);
    series.follow(told);
    return series;
  }

  /** @returns {RunRecord} */
  toRecord() {
    const { id, kind, created, updated } = this;
    const lanes = this.lanes.value.map((lane) => lane.toRecord());
    return { id, kind, title: this.title.value, prompt: this.asked || this.prompt.value, pictures: this.pictures, history: this.history.value, after: this.after, values: this.values.value, lanes, created, updated, v: 1 };
  }

  /** With all that has come of what is under way. @returns {RunRecord} */
  whole() {
    return { ...this.toRecord(), lanes: this.lanes.value.map((lane) => lane.whole()) };
  }

  // --- Actions

  /** @param {string[]} [gone] turns whose pieces go: it has them no more */
  async keep(gone) {
    if (this.#isGone || this.isElsewhere.value) return;
    this.updated = Date.now();
    await keeping(() => (gone ? stored.finish(this.toRecord(), gone) : stored.save(this.toRecord())));
    if (!this.#telling) tellWhole(this);
  }

  /** What another tab says that runs it. @param {import("./telling.js").Told} told */
  follow(told) {
    if (this.#telling && !(told.isRunning && told.since < this.#telling.since && this.#elsewhere.isCoveredBy(told))) return;
    batch(() => {
      // By a tab that was only busy and has all of it, what was asked for anew here is given up.
      if (this.#telling) {
        this.#timesGiven += 1;
        this.stop();
        this.#rest();
        this.lanes.value = [];
      }
      this.#elsewhere.take(told);
    });
  }

  /** What of it has changed there. @param {import("./telling.js").News} news */
  followNews(news) {
    // To what runs here as well, that tab tells all of it.
    if (!this.#telling) batch(() => this.#elsewhere.takeNews(news));
  }

  /** Stops all, and keeps nothing of it from now on. */
  leave() {
    this.#isGone = true;
    this.stop();
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
    if (this.isElsewhere.value) return;
    for (const lane of groups.flat()) lane.lineUp();
    const times = this.#timesGiven;
    this.#spread().tell();
    await this.keep();
    const one = async (/** @type {Lane} */ lane) => {
      const before = lane.turn.value?.id;
      await work(lane);
      const turn = lane.turn.value;
      if (turn && !this.#isGone && times === this.#timesGiven) await keeping(() => stored.finish(this.toRecord(), [turn.id, before]));
    };
    for (const group of groups) await Promise.all(group.map((lane) => this.#slots.use(() => one(lane))));
    if (this.isRunning.value || times !== this.#timesGiven) return;
    this.#rest();
    tellWhole(this);
    announceEnd(this.lanes.value);
  }

  /** Into the store, and to the other tabs. */
  #spread() {
    this.#timer ||= setInterval(() => this.#keepPieces(), PIECE_MS);
    return (this.#telling ??= new Telling(this));
  }

  #rest() {
    clearInterval(this.#timer);
    this.#telling?.end();
    [this.#timer, this.#telling] = [0, null];
  }

  #keepPieces() {
    if (this.#isGone) return;
    // Pieces are found again by the turns that the run names as under way.
    const turns = this.lanes.value.map(({ turn: { value: turn } }) => `${turn?.id} ${turn?.isRunning}`).join();
    if (turns !== this.#keptTurns) this.keep();
    this.#keptTurns = turns;
    for (const lane of this.lanes.value) {
      const piece = lane.newPiece();
      if (piece) keeping(() => savePiece(piece));
    }
  }
}
