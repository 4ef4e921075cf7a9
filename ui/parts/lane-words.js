// What is said of a lane: its state and its rate, in words.

import { clock, hasStalled, rateOf } from "../state/turn.js";

/** Why a lane cannot be asked, changed or removed while another tab runs lanes beside it. */
export const ELSEWHERE = "Another tab is at it: once it is done";

/** @param {number} ms */
export function seconds(ms) {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** Pieces a second of an answer that still comes; null: too few to say. @param {import("../state/lane.js").Lane} lane */
export function liveRate(lane) {
  const times = lane.turn.value?.record.times;
  if (!times || times.first === null || times.last === null || lane.numPieces < 3 || times.last <= times.first || (lane.isRunning && hasStalled(times))) return null;
  return ((lane.numPieces - 1) * 1000) / (times.last - times.first);
}

/** Kind of tag and words. @param {import("../state/lane.js").Lane} lane @returns {[string, string]} */
export function stateOf(lane) {
  if (lane.isInLine.value) return ["warn", "in line"];
  const turn = lane.turn.value;
  if (!turn) return ["", "not run yet"];
  switch (turn.state.value) {
    case "SENT":
    case "QUEUED":
      return ["warn", "queued"];
    case "READING":
      return ["warn", "reading"];
    case "THINKING":
      return ["hot", "thinking"];
    case "WRITING":
      return ["hot", "writing"];
    case "STOPPED":
      return ["", "stopped"];
    case "CUT":
      return ["warn", "cut off"];
    case "FAILED":
      return ["bad", turn.record.finish ? `failed (${turn.record.finish})` : "failed"];
    default:
      return turn.record.finish === "length" ? ["warn", "at limit"] : ["good", "done"];
  }
}

/**
 * What an answer took. short: as it stands in the line; "": only in the whole list.
 * @param {import("../state/lane.js").Lane} lane @param {import("../store/turns.js").TurnRecord} record
 * @returns {{name: string, value: string, short: string}[]}
 */
export function factsOf(lane, record) {
  const { times, usage, timings, seed, model } = record;
  /** @type {{name: string, value: string, short: string}[]} */
  const found = [];
  const add = (/** @type {string} */ name, /** @type {string} */ value, short = "") => found.push({ name, value, short });
  if (times.first === null && lane.isRunning) add("Since it was sent", seconds(clock() - times.sent), seconds(clock() - times.sent));
  if (timings) add("Waited at the server", seconds(timings.queued_ms));
  if (times.first !== null) add("To the first token", seconds(times.first - times.sent), seconds(times.first - times.sent));
  const rate = rateOf(record);
  if (rate) add("Rate", `${rate.toFixed(1)} tok/s`, `${rate.toFixed(0)} tok/s`);
  const count = usage?.completion_tokens ?? lane.numPieces;
  if (count) add("Wrote", `${count.toLocaleString("en")} tokens`, count.toLocaleString("en"));
  if (usage) add("Prompt", `${usage.prompt_tokens.toLocaleString("en")} tokens, ${(usage.prompt_tokens_details?.cached_tokens ?? 0).toLocaleString("en")} from the cache`);
  if (seed !== null) add("Seed", String(seed));
  if (model) add("Model", model);
  return found;
}
