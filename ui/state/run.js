// An answer under way: it writes to its own turn, whichever chat is open.

import { ApiError, isAbort } from "../api/errors.js";
import { generateBeside } from "../api/beside.js";
import { contact } from "./contact.js";
import { leanOf } from "./exchange.js";
import { Replay } from "./replay.js";
import { enter, leave } from "./running.js";
import { noteAnswer } from "./server.js";
import { announce, isConnected } from "./session.js";
import { Spreading } from "./spreading.js";
import { addCall, clock, timesFromNow } from "./turn.js";
import { OLD_MS } from "./waiting.js";

/** @typedef {import("./turn.js").Turn} Turn */

const ANNOUNCED_LENGTH = 200;

export class Run {
  turn;
  /** Whether another tab has the turn by now. */
  isGiven = false;
  #abort = new AbortController();
  #spreading;
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
    turn.numTokens = 0;
    this.#fork = fork;
    this.#replay = new Replay(turn.record.text, turn.record.reasoning);
    this.#spreading = new Spreading(turn, this);
  }

  /** Returns once the turn has ended and is kept, or another tab has it; what went wrong is in the turn. */
  async start() {
    enter(this);
    announce("Answering");
    try {
      await this.#read().catch((error) => {
        // What was asked may be the first to find that the server is away.
        if (error.code !== "unreachable" || isConnected.value) throw error;
        return this.#read();
      });
    } catch (error) {
      if (!this.isGiven) this.#fail(error);
    }
    const { turn } = this;
    turn.isCatchingUp.value = false;
    turn.queue.value = null;
    if (this.isGiven || (await this.#spreading.finish())) return this.#leaveToOther();
    this.#announceEnd();
  }

  /** What follows from the answer has begun: until then it is under way for all who look on. */
  end() {
    leave(this.turn.id);
    this.#spreading.end();
  }

  // --- Actions

  stop() {
    this.#abort.abort();
  }

  /** Another tab asked for the answer anew, as this one said nothing for long: that one goes on. */
  give() {
    this.isGiven = true;
    this.#abort.abort();
  }

  /** A tab that gives it up had more of it: the same comes here once more. @param {string} text @param {string} reasoning */
  learn(text, reasoning) {
    const { record } = this.turn;
    if (!text.startsWith(record.text) || !reasoning.startsWith(record.reasoning)) return;
    this.#replay.learn(record, { text, reasoning });
    Object.assign(record, { text, reasoning });
  }

  // --- Internal

  /** What a person asks without a server waits for it, for as long as they will not have changed their mind. */
  async #wait() {
    const { signal } = this.#abort;
    await contact(signal);
    signal.throwIfAborted();
    const { record } = this.turn;
    if (clock() - record.times.sent > OLD_MS) throw new ApiError("The server was away", { code: "unreachable" });
    record.times = timesFromNow();
  }

  async #read() {
    if (!isConnected.value) await this.#wait();
    for await (const event of generateBeside(this.turn.record.request, this.#abort.signal)) {
      const now = clock();
      if (event.kind === "text" || event.kind === "reasoning") {
        // What comes once more took its time all the same.
        event.text = this.#replay.take(event.kind, event.text);
        if (this.#replay.hasDiffered) this.#leave();
      }
      const { turn } = this;
      const { record } = turn;
      turn.isCatchingUp.value = this.#replay.isUnderWay;
      if (event.kind === "queued" && (!turn.queue.value || event.place !== turn.queue.value.place)) announce(event.place ? `Queued, place ${event.place}` : "Queued");
      turn.queue.value = event.kind === "queued" ? event : null;
      if (event.kind === "usage") {
        Object.assign(record, { usage: event.usage, timings: event.timings });
        if (event.received) record.received = leanOf(event.received, record);
      } else {
        if (event.kind === "started") {
          const { model, received, isBySocket } = event;
          Object.assign(record, { model, received, isBySocket });
          noteAnswer(model);
        }
        if (event.kind === "done") Object.assign(record, { finish: event.reason, forcedAt: event.forcedAt });
        else if (event.kind !== "queued" && event.kind !== "started") this.#append(event, now);
        // The counts come after the end, and the turn is done once they are there.
        if (event.kind !== "done") turn.advance(event.kind);
      }
    }
    this.turn.advance("done");
  }

  /** Shown from now on as the tab tells it that has it. */
  async #leaveToOther() {
    this.isGiven = true;
    this.#spreading.give();
    await (await import("./mirror.js")).adopt(this.turn, true);
  }

  /** The answer is another one than the turn has: that stays as it was, and a sibling goes on. */
  #leave() {
    const { turn } = this;
    const { text, reasoning, word } = this.#replay.end();
    turn.record.failure = `It comes out differently from word ${word} on`;
    turn.isCatchingUp.value = false;
    const { state } = turn.record;
    turn.cut();
    this.#spreading.finish();
    this.end();
    this.turn = this.#fork(turn, text, reasoning);
    this.turn.become({ state });
    Object.assign(this.turn, { numPrompt: turn.numPrompt, numTokens: turn.numTokens, numThoughts: turn.numThoughts });
    enter(this);
    this.#spreading = new Spreading(this.turn, this);
  }

  /** @param {Extract<import("../api/generate.js").GenerationEvent, {kind: "text" | "reasoning" | "tool"}>} event @param {number} now */
  #append(event, now) {
    const { record } = this.turn;
    const { times } = record;
    times.first ??= now;
    times.last = now;
    this.turn.numTokens += (event.kind === "text" && event.logprobs?.length) || 1;
    if (event.kind === "text" && event.logprobs) (record.logprobs ??= []).push(...event.logprobs);
    if (event.kind === "reasoning") {
      record.reasoning += event.text;
      times.thought = now;
      this.turn.numThoughts += 1;
    } else if (event.kind === "text") {
      times.text ??= now;
      record.text += event.text;
    } else addCall(record, event, now);
  }

  /** @param {unknown} error */
  #fail(error) {
    const { turn } = this;
    const { numPrompt, numTokens, numThoughts } = turn;
    // The counts of a server come with the end of an answer only; what came of it once more is less than there is.
    if (numTokens && !this.#replay.isUnderWay) turn.record.usage ??= { prompt_tokens: numPrompt, completion_tokens: numTokens, completion_tokens_details: { reasoning_tokens: numThoughts }, isCounted: 1 };
    if (isAbort(error)) return turn.advance("stop");
    if (!(error instanceof ApiError)) {
      turn.record.failure = `This page failed: ${error instanceof Error ? error.message : error}`;
      return turn.advance("failed");
    }
    turn.record.failure = error.retryAfterS ? `${error.message}; try again in ${error.retryAfterS} s` : error.message;
    turn.advance(error.isLost ? "lost" : "failed");
  }

  #announceEnd() {
    const { record } = this.turn;
    if (record.failure) announce(record.failure, true);
    else if (record.state === "STOPPED") announce("Stopped");
    else announce(`${record.text.slice(0, ANNOUNCED_LENGTH)} … ${record.text.length} characters`);
  }
}
