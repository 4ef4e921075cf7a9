// One turn: what is kept of it, what changes while it runs, and the table of its states.

import { signal } from "../vendor/signals-core.js";
import { newId } from "./ids.js";

/** @typedef {import("../store/turns.js").TurnRecord} TurnRecord */

/** @type {Record<string, Record<string, string>>} */
const TABLE = {
  WAITING: { send: "DONE" },
  SENT: { queued: "QUEUED", started: "READING", stop: "STOPPED", failed: "FAILED", lost: "CUT" },
  QUEUED: { queued: "QUEUED", started: "READING", stop: "STOPPED", failed: "FAILED", lost: "CUT" },
  READING: { reasoning: "THINKING", text: "WRITING", tool: "WRITING", done: "DONE", stop: "STOPPED", failed: "FAILED", lost: "CUT" },
  THINKING: { reasoning: "THINKING", text: "WRITING", tool: "WRITING", done: "DONE", stop: "STOPPED", failed: "FAILED", lost: "CUT" },
  WRITING: { reasoning: "WRITING", text: "WRITING", tool: "WRITING", done: "DONE", stop: "STOPPED", failed: "FAILED", lost: "CUT" },
  DONE: { done: "DONE", resume: "SENT" },
  STOPPED: { resume: "SENT" },
  FAILED: { resume: "SENT" },
  CUT: { resume: "SENT" },
};
const RUNNING = new Set(["SENT", "QUEUED", "READING", "THINKING", "WRITING"]);

/** @param {string} state */
export function isRunningState(state) {
  return RUNNING.has(state);
}

export class Turn {
  /** Its text grows here without a signal: the frame loop looks at its length. */
  record;
  state;
  /** While what is shown already comes once more. */
  isCatchingUp = signal(false);
  /** While the other tabs are asked whether one of them has it under way. */
  isSought = signal(false);
  /** While it waits for a lane: its place, and when it is asked for again, in ms since 1970. */
  queue = signal(/** @type {{place?: number, retryAt?: number} | null} */ (null));
  /** While it runs: tokens of its prompt, 0 until they are counted, and of what came, a piece for a token. */
  numPrompt = 0;
  numTokens = 0;
  /** How many of them are thoughts. */
  numThoughts = 0;
  /** How many results its calls were given on this page. */
  results = signal(0);
  /** How often it went on after its end. */
  resumptions = signal(0);

  // --- Lifecycle

  /** @param {TurnRecord} record */
  constructor(record) {
    this.record = record;
    this.state = signal(record.state);
  }

  // --- Actions

  get id() {
    return this.record.id;
  }

  get isRunning() {
    return RUNNING.has(this.state.value);
  }

  /**
   * Moves to the state that follows. An event that the table lacks is our own fault.
   * @param {string} event
   */
  advance(event) {
    const next = TABLE[this.record.state]?.[event];
    if (!next) throw new Error(`a turn that is ${this.record.state} cannot take ${event}`);
    this.record.state = next;
    this.state.value = next;
    if (event === "resume") {
      // All of it comes once more.
      this.numThoughts = 0;
      this.resumptions.value += 1;
    }
  }

  /** An answer that was under way when its page died is cut. */
  cut() {
    this.become({ state: "CUT" });
  }

  /** What another tab or the store has of it takes the place of what was here. @param {Partial<TurnRecord>} record */
  become(record) {
    Object.assign(this.record, record);
    this.state.value = this.record.state;
  }
}

/** A turn as it begins. @param {"user" | "assistant"} role @param {string} conversation @param {string | null} parent @param {string} text @param {string} state @returns {TurnRecord} */
export function recordOf(role, conversation, parent, text, state) {
  return {
    id: newId(), conversation, parent, role, text, reasoning: "", tools: [], state,
    request: null, model: "", seed: null, finish: null, failure: null, usage: null, timings: null,
    times: timesFromNow(), isEdited: false, created: Date.now(), v: 1,
  };
}

/** Whether it was held to JSON. @param {TurnRecord} record */
export function isJson({ request }) {
  return ["json_object", "json_schema"].includes(request?.response_format?.type);
}

/** Its text, or so much of it, as Markdown: JSON is code, in which no sign is a mark. @param {TurnRecord} record */
export function markdownOf(record, text = record.text) {
  return text && isJson(record) ? `\`\`\`json\n${text}` : text;
}

/** A piece of a call comes. @param {TurnRecord} record @param {{index: number, name?: string, arguments?: string}} piece @param {number} now */
export function addCall({ tools, times }, { index, name = "", arguments: words = "" }, now) {
  times.first ??= now;
  times.last = now;
  const call = (tools[index] ??= { name: "", arguments: "" });
  call.name ||= name;
  call.arguments += words;
}

/** In ms since 1970, by a clock that nobody sets meanwhile. */
export function clock() {
  return performance.timeOrigin + performance.now();
}

/** The times of an answer that is asked for now. @returns {TurnRecord["times"]} */
export function timesFromNow() {
  return { sent: clock(), thought: null, first: null, text: null, last: null };
}

/** Text of several tokens may come in one piece: a shorter time says nothing of how fast they were drawn. */
const LEAST_MS = 250;
/** Nor do a few tokens that the server drew in as short a time. */
const LEAST_TOKENS = 8;

/** After so long without a piece, nothing comes as fast as it did. */
const STALL_MS = 2000;

/** Whether an answer that is under way comes no more. @param {TurnRecord["times"]} times */
export function hasStalled({ last }) {
  return clock() - (last ?? 0) > STALL_MS;
}

/**
 * Tokens a second: as the server says, else between the first and the last, by the page's clock. Of an answer that was
 * resumed both are of the last request, which brought all of it.
 * @param {Pick<TurnRecord, "times" | "usage"> & {timings?: any}} record
 */
export function rateOf({ times, usage, timings }) {
  if (timings?.predicted_per_second > 0) return timings.predicted_n < LEAST_TOKENS && timings.predicted_ms < LEAST_MS ? null : timings.predicted_per_second;
  const ms = (times.last ?? 0) - (times.first ?? 0);
  return usage?.completion_tokens > 1 && times.first !== null && ms >= LEAST_MS ? ((usage.completion_tokens - 1) * 1000) / ms : null;
}

/** How much of each channel there is. @param {Turn} turn */
export function lengthsOf({ record }) {
  return { text: record.text.length, reasoning: record.reasoning.length };
}

/** What has come since. @param {TurnRecord} record @param {{text: number, reasoning: number}} from */
export function newsOf(record, from) {
  return { text: record.text.slice(from.text), reasoning: record.reasoning.slice(from.reasoning) };
}
