// What other tabs are told of a run: all of it once, and while it runs here, what has changed since.

import { hear, tell } from "../store/tabs.js";

/**
 * @typedef {import("../store/runs.js").LaneRecord & {isInLine: boolean, numPieces: number}} ToldLane
 * @typedef {{title: string, prompt: string, values: Record<string, any>, lanes: ToldLane[], isRunning: boolean, since: number}} Told
 * @typedef {Partial<ToldLane> & {id: string}} LaneNews a lane without what is as it was told; its turn without the request, where that was told
 * @typedef {Partial<Omit<Told, "lanes" | "since">> & {lanes: LaneNews[], since: number}} News
 * @typedef {import("./series.js").Series} Series
 */

const TELL_MS = 500;

export class Telling {
  /** When it began to run here. */
  since = Date.now();
  #series;
  /** What all tabs that listen have heard from here; null: some may have heard otherwise. @type {Seen | null} */
  #seen = null;
  #timer;
  #unhear;

  // --- Lifecycle

  /** @param {Series} series */
  constructor(series) {
    this.#series = series;
    this.#timer = setInterval(() => this.tell(), TELL_MS);
    this.#unhear = hear((message) => message.turn === series.id && this.#hear(message));
  }

  end() {
    clearInterval(this.#timer);
    this.#unhear();
  }

  // --- Actions

  tell() {
    const told = wholeOf(this.#series, this.since);
    const seen = seenOf(told);
    if (this.#seen) tell({ kind: "news", turn: this.#series.id, record: newsOf(told, seen, this.#seen) });
    else tell({ kind: "mine", turn: this.#series.id, record: told });
    this.#seen = seen;
  }

  // --- Internal

  /** @param {import("../store/tabs.js").Message} message */
  #hear({ kind, lane: id }) {
    if (kind === "stop") this.#series.lanes.value.find((lane) => lane.id === id)?.stop();
    else if (kind === "who" || kind === "mine" || kind === "news") this.#seen = null;
    if (kind === "who") this.tell();
  }
}

/** All of one that does not run here. @param {Series} series */
export function tellWhole(series) {
  tell({ kind: "mine", turn: series.id, record: wholeOf(series, 0) });
}

/** All that was told of a run, with its news. @param {Told} told @param {News} news @returns {Told} */
export function joined(told, news) {
  const known = new Map(told.lanes.map((lane) => [lane.id, lane]));
  const lanes = news.lanes.map((lane) => {
    const { turn } = lane;
    const before = known.get(lane.id);
    const asked = before?.turn?.request;
    return /** @type {ToldLane} */ ({ ...before, ...lane, ...(turn && !("request" in turn) && { turn: { .../** @type {object} */ (turn), request: asked } }) });
  });
  return { ...told, ...news, lanes };
}

// --- Internal

/** @param {Series} series @param {number} since @returns {Told} */
function wholeOf(series, since) {
  const { title, prompt, values } = series.toRecord();
  const lanes = series.lanes.value.map((lane) => ({ ...lane.whole(), isInLine: lane.isInLine.value, numPieces: lane.numPieces }));
  return { title, prompt, values, lanes, isRunning: series.isRunning.value, since };
}

/** By what the next that is told is told apart from this. @typedef {ReturnType<typeof seenOf>} Seen @param {Told} told */
function seenOf({ prompt, values, lanes }) {
  return { prompt, values, lanes: new Map(lanes.map((lane) => [lane.id, { values: lane.values, turn: lane.turn?.id, mark: markOf(lane) }])) };
}

/** Another one where anything of a lane has changed. What is large and never does is left out. @param {ToldLane} lane */
function markOf({ turn, isInLine, numPieces }) {
  if (!turn) return `${isInLine}`;
  const { text, reasoning, request: _, logprobs: _choices, attachments: _files, received: _raw, ...rest } = turn;
  return JSON.stringify([isInLine, numPieces, text.length, reasoning.length, rest]);
}

/** @param {Told} told @param {Seen} seen what of it is seen now @param {Seen} before @returns {News} */
function newsOf({ prompt, values, lanes, ...rest }, seen, before) {
  const laneNews = (/** @type {ToldLane} */ lane) => {
    const [now, known] = [seen.lanes.get(lane.id), before.lanes.get(lane.id)];
    if (!known || !now) return lane;
    const { id, turn, isInLine, numPieces } = lane;
    const own = known.values !== now.values && { values: lane.values };
    if (known.mark === now.mark) return { id, ...own };
    const { request: _, ...answer } = turn ?? {};
    return { id, ...own, isInLine, numPieces, turn: /** @type {any} */ (turn && known.turn === turn.id ? answer : turn) };
  };
  return { ...rest, ...(prompt !== before.prompt && { prompt }), ...(values !== before.values && { values }), lanes: lanes.map(laneNews) };
}
