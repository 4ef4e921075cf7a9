// The runs of one kind: those that are kept, and the one that is open. One that still runs stays alive when another is opened.

import * as drafts from "../store/drafts.js";
import * as stored from "../store/runs.js";
import { hear, tell } from "../store/tabs.js";
import { signal } from "../vendor/signals-core.js";
import { Series } from "./series.js";
import { keeping, offerUndo } from "./session.js";

/** @typedef {{id: string, title: string, updated: number, numLanes: number}} Entry */

const LATE_MS = 1000;

export class Shelf {
  /** Kept ones, the newest first. */
  list = signal(/** @type {Entry[]} */ ([]));
  /** The name of the one that was deleted while it was open. */
  gone = signal("");
  open;
  #kind;
  #blank;
  /** @type {Map<string, Series>} */
  #alive = new Map();
  /** @type {string | undefined} */
  #wanted;

  // --- Lifecycle

  /** @param {import("../store/runs.js").RunRecord["kind"]} kind @param {() => Series} blank */
  constructor(kind, blank) {
    this.#kind = kind;
    this.#blank = blank;
    this.open = signal(blank());
    hear((message) => this.#take(message));
  }

  /** What was typed before the page was here is typed again. */
  async start() {
    await this.#fill(this.open.value);
    await this.refresh();
  }

  // --- Actions

  /** What the editor of the open one has, kept with each key. @param {string} text */
  type(text) {
    this.open.value.prompt.value = text;
    return keeping(() => drafts.save(this.#draftOf(this.open.value), text));
  }

  /** Reads what is kept. */
  async refresh() {
    const all = (await keeping(() => stored.readAll(this.#kind))) ?? [];
    this.list.value = all.map(({ id, title, updated, lanes }) => ({ id, title, updated, numLanes: lanes.length }));
  }

  /** Opens that one; one that is not there is a new one. @param {string | undefined} id undefined: the open one stays */
  async show(id) {
    this.#wanted = id;
    if (!id || id === this.open.value.id) return;
    const isAlive = this.#alive.has(id);
    const series = (await this.find(id)) ?? this.#blank();
    if (!isAlive) await this.#fill(series);
    // Another one may have been asked for meanwhile.
    if (this.#wanted === id) this.take(series);
  }

  /** That one as it is, or as it was kept; undefined: there is none. @param {string} id @returns {Promise<Series | undefined>} */
  async find(id) {
    const record = this.#alive.has(id) ? undefined : await keeping(() => stored.read(id));
    const kept = record?.kind === this.#kind ? await Series.revive(record) : undefined;
    // It may have been asked for twice.
    if (kept && !this.#alive.has(id)) this.#alive.set(id, kept);
    return this.#alive.get(id);
  }

  /** @param {Series} series */
  take(series) {
    this.#alive.set(series.id, series);
    this.open.value = series;
    for (const [id, other] of this.#alive) if (other !== series && !other.isRunning.value) this.#alive.delete(id);
  }

  /** Begins a new one in place of the open one. */
  startNew() {
    this.take(this.#blank());
  }

  /** For good after a while, in all tabs. @param {string} id */
  async remove(id) {
    // Not as it is kept: what has come of an answer that was cut, or still comes, is beside that.
    const series = this.open.value.id === id ? this.open.value : await this.find(id);
    this.#forget(id);
    tell({ kind: "dropped", turn: id });
    if (!series) return;
    const drop = () => keeping(() => stored.remove(series.toRecord()));
    await drop();
    // What another tab had on its way into the store goes as well. Not by that tab: it may be asleep until after the Undo.
    const late = setTimeout(drop, LATE_MS);
    offerUndo(`Deleted ${series.title.value}`, async () => {
      clearTimeout(late);
      await keeping(() => stored.save(series.whole()));
      await this.#list(id);
      tell({ kind: "listed", turn: id });
    });
  }

  // --- Internal

  /** What another tab did. @param {import("../store/tabs.js").Message} message */
  #take({ kind, turn, record }) {
    if (kind === "mine") this.#alive.get(turn)?.follow(record);
    else if (kind === "news") this.#alive.get(turn)?.followNews(record);
    else if (kind === "listed") this.#list(turn);
    else if (kind === "dropped") this.#forget(turn);
  }

  /** It is kept no more. @param {string} id */
  #forget(id) {
    const series = this.#alive.get(id) ?? (this.open.value.id === id ? this.open.value : undefined);
    series?.leave();
    this.#alive.delete(id);
    this.list.value = this.list.value.filter((entry) => entry.id !== id);
    if (this.open.value.id === id) {
      this.gone.value = id;
      this.startNew();
    }
  }

  /** It is kept again. @param {string} id */
  #list(id) {
    if (this.gone.value === id) this.gone.value = "";
    return this.refresh();
  }

  /** @param {Series} series */
  async #fill(series) {
    // What is typed or run meanwhile is not a draft from before.
    const before = series.prompt.value;
    if (before !== series.asked) return;
    const draft = (await keeping(() => drafts.read(this.#draftOf(series)))) ?? "";
    if (draft && series.prompt.value === before) series.prompt.value = draft;
  }

  /** What is not kept as a run yet has one draft for all. @param {Series} series */
  #draftOf(series) {
    return series.hasAnswers.value ? series.id : this.#kind;
  }
}
