// A run that another tab has under way: shown as that tab tells it, and stopped there.

import * as stored from "../store/runs.js";
import { tell } from "../store/tabs.js";
import { Lane } from "./lane.js";
import { claimed } from "./mirror.js";
import { keeping } from "./session.js";
import { joined } from "./telling.js";
import { Turn } from "./turn.js";

/**
 * @typedef {import("./telling.js").Told} Told
 * @typedef {import("./telling.js").ToldLane} ToldLane
 */

const SILENCE_MS = 2000;

export class Elsewhere {
  #series;
  /** All that it told last; null: it told nothing, or runs nowhere. @type {Told | null} */
  #told = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #silence;

  // --- Lifecycle

  /** @param {import("./series.js").Series} series */
  constructor(series) {
    this.#series = series;
  }

  // --- Actions

  /** @param {Told} told */
  take(told) {
    const { title, prompt, values, lanes, isRunning } = told;
    const series = this.#series;
    this.#told = isRunning ? told : null;
    if (series.kind === "compare") {
      // What is being typed here stays.
      if (series.prompt.value === series.asked) series.prompt.value = prompt;
      series.asked = prompt;
    }
    const known = new Map(series.lanes.value.map((lane) => [lane.id, lane]));
    clearTimeout(this.#silence);
    if (isRunning) this.#silence = setTimeout(() => this.#ask(), SILENCE_MS);
    series.isElsewhere.value = isRunning;
    series.title.value = title;
    series.values.value = values;
    series.lanes.value = lanes.map((each) => this.#taken(known.get(each.id) ?? new Lane(each), each, isRunning));
    // That of which it had less is kept, and told, as it is here.
    if (!isRunning && lanes.some((each) => hasEndedHere(known.get(each.id), each))) series.keep();
  }

  /** What that tells which runs it; another one may have told more, or nobody: then all of it is asked for. @param {import("./telling.js").News} news */
  takeNews(news) {
    if (this.#told?.since === news.since) this.take(joined(this.#told, news));
    else tell({ kind: "who", turn: this.#series.id });
  }

  /** Whether it has all that there is here. @param {Told} told */
  isCoveredBy({ lanes }) {
    const told = new Map(lanes.map(({ id, turn }) => [id, turn]));
    return this.#series.lanes.value.every(({ id, turn: { value: turn } }) => {
      const other = told.get(id);
      return !turn || (other?.id === turn.id && other.text.startsWith(turn.record.text) && other.reasoning.startsWith(turn.record.reasoning));
    });
  }

  // --- Internal

  /** @param {Lane} lane @param {ToldLane} told @param {boolean} isRunning */
  #taken(lane, { id, values, turn: record, isInLine, numPieces }, isRunning) {
    lane.stop = isRunning ? () => tell({ kind: "stop", turn: this.#series.id, lane: id }) : Lane.prototype.stop;
    lane.values.value = values;
    lane.isInLine.value = isInLine;
    lane.numPieces = numPieces;
    const turn = lane.turn.value;
    if (hasEndedHere(lane, { turn: record })) return lane;
    if (!record || turn?.id !== record.id) lane.turn.value = record && new Turn(record);
    else {
      const hadEnded = !turn.isRunning;
      turn.become(record);
      if (hadEnded && turn.isRunning) turn.resumptions.value += 1;
    }
    return lane;
  }

  /** Nothing was heard for a while. What no tab has any more is as it was kept. */
  async #ask() {
    const series = this.#series;
    const told = await claimed(series.id);
    if (told) return this.take(told);
    const record = await keeping(() => stored.read(series.id));
    // Where nothing is kept there is what it told last.
    const lanes = record?.lanes ?? series.whole().lanes;
    series.lanes.value = await Promise.all(lanes.map((lane) => Lane.revive(lane)));
    series.isElsewhere.value = false;
    this.#told = null;
  }
}

/** Whether an answer is whole here that is none there: its tab was busy while another one asked for the rest. @param {Lane | undefined} lane @param {Pick<ToldLane, "turn">} told */
function hasEndedHere(lane, { turn: told }) {
  const turn = lane?.turn.value;
  return turn?.record.state === "DONE" && turn.id === told?.id && told.state !== "DONE";
}
