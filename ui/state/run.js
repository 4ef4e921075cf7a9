// The answers under way: each writes to its own turn, whichever chat is open, and into the store as it comes.

import { ApiError, isAbort } from "../api/errors.js";
import { generate } from "../api/generate.js";
import * as stored from "../store/turns.js";
import { signal } from "../vendor/signals-core.js";
import { Replay } from "./replay.js";
import { announce, storageProblem } from "./session.js";

/** @typedef {import("./turn.js").Turn} Turn */

const PIECE_MS = 100;
const ANNOUNCED_LENGTH = 200;

/** By the id of the turn. */
export const running = signal(/** @type {Map<string, Run>} */ (new Map()));

export class Run {
  turn;
  #abort = new AbortController();
  #pieces = 0;
  #keptText;
  #keptReasoning;
  #isKeeping = false;
  #replay;
  #fork;

  // --- Lifecycle

  /**
   * @param {Turn} turn in the state SENT, with the request that it answers; text that it has is expected to come again
   * @param {(turn: Turn, text: string, reasoning: string) => Turn} fork makes a sibling for an answer that turns out
   *   to be another one than the turn has
   */
  constructor(turn, fork) {
    this.turn = turn;
    this.#fork = fork;
    this.#replay = new Replay(turn.record.text, turn.record.reasoning);
    this.#keptText = turn.record.text.length;
    this.#keptReasoning = turn.record.reasoning.length;
  }

  /** Returns once the turn has ended; what went wrong is in the turn. */
  async start() {
    running.value = new Map(running.value).set(this.turn.id, this);
    const timer = setInterval(() => this.#keep(), PIECE_MS);
    announce("Answering");
    try {
      await this.#read();
    } catch (error) {
      this.#fail(error);
    }
    clearInterval(timer);
    this.turn.isCatchingUp.value = false;
    const rest = new Map(running.value);
    rest.delete(this.turn.id);
    running.value = rest;
    await stored.finish(this.turn.record).catch(lament);
    this.#announceEnd();
  }

  // --- Actions

  stop() {
    this.#abort.abort();
  }

  // --- Internal

  async #read() {
    for await (const event of generate(this.turn.record.request, this.#abort.signal)) {
      const now = performance.timeOrigin + performance.now();
      if (event.kind === "text" || event.kind === "reasoning") {
        event.text = this.#replay.take(event.kind, event.text);
        if (this.#replay.hasDiffered) this.#leave();
      }
      const { turn } = this;
      const { record } = turn;
      turn.isCatchingUp.value = this.#replay.isUnderWay;
      if (event.kind === "usage") Object.assign(record, { usage: event.usage, timings: event.timings });
      else {
        if (event.kind === "started") record.model = event.model;
        else if (event.kind === "done") record.finish = event.reason;
        else this.#append(event, now);
        // The counts come after the end, and the turn is done once they are there.
        if (event.kind !== "done") turn.advance(event.kind);
      }
    }
    this.turn.advance("done");
  }

  /** The answer is another one than the turn has: that stays as it was, and a sibling goes on. */
  #leave() {
    const { turn } = this;
    const { text, reasoning } = this.#replay.end();
    turn.record.failure = `It comes out differently from word ${text.trim().split(/\s+/).length} on`;
    turn.isCatchingUp.value = false;
    const state = turn.record.state;
    turn.cut();
    stored.finish(turn.record).catch(lament);
    this.turn = this.#fork(turn, text, reasoning);
    this.turn.record.state = state;
    this.turn.state.value = state;
    const others = new Map(running.value);
    others.delete(turn.id);
    running.value = others.set(this.turn.id, this);
    this.#keptText = text.length;
    this.#keptReasoning = reasoning.length;
    this.#pieces = 0;
  }

  /** @param {Exclude<import("../api/generate.js").GenerationEvent, {kind: "started" | "done" | "usage"}>} event @param {number} now */
  #append(event, now) {
    const { record } = this.turn;
    const { times } = record;
    times.first ??= now;
    times.last = now;
    if (event.kind !== "tool" && !event.text) return;
    if (event.kind === "reasoning") {
      record.reasoning += event.text;
      times.thought = now;
    } else if (event.kind === "text") {
      times.text ??= now;
      record.text += event.text;
    } else {
      const call = (record.tools[event.index] ??= { name: "", arguments: "" });
      call.name ||= event.name ?? "";
      call.arguments += event.arguments ?? "";
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    const { turn } = this;
    if (isAbort(error)) return turn.advance("stop");
    if (!(error instanceof ApiError)) {
      turn.record.failure = `This page failed: ${error instanceof Error ? error.message : error}`;
      return turn.advance("failed");
    }
    turn.record.failure = error.retryAfterS ? `${error.message}; try again in ${error.retryAfterS} s` : error.message;
    turn.advance(error.isLost ? "lost" : "failed");
  }

  async #keep() {
    const { record } = this.turn;
    const text = record.text.slice(this.#keptText);
    const reasoning = record.reasoning.slice(this.#keptReasoning);
    if (this.#isKeeping || (!text && !reasoning)) return;
    this.#isKeeping = true;
    this.#keptText = record.text.length;
    this.#keptReasoning = record.reasoning.length;
    await stored.savePiece({ turn: record.id, n: this.#pieces++, reasoning, text }).catch(lament);
    this.#isKeeping = false;
  }

  #announceEnd() {
    const { record } = this.turn;
    if (record.failure) announce(record.failure, true);
    else if (record.state === "STOPPED") announce("Stopped");
    else announce(`${record.text.slice(0, ANNOUNCED_LENGTH)} … ${record.text.length} characters`);
  }
}

/** @param {unknown} error */
function lament(error) {
  storageProblem.value = error instanceof Error || error instanceof DOMException ? error.message : String(error);
}
