// What is said of a lane: its state and its rate, in words.

import { clock } from "../state/lane.js";

/** @param {number} ms */
export function seconds(ms) {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** Pieces a second of an answer that still comes; null: too few to say. @param {import("../state/lane.js").Lane} lane */
export function liveRate(lane) {
  const times = lane.turn.value?.record.times;
  if (!times || times.first === null || times.last === null || lane.numPieces < 3 || times.last <= times.first) return null;
  return ((lane.numPieces - 1) * 1000) / (times.last - times.first);
}

/** Kind of tag and words. @param {import("../state/lane.js").Lane} lane @param {boolean} isStale @returns {[string, string]} */
export function stateOf(lane, isStale) {
  if (lane.isInLine.value) return ["warn", "in line"];
  const turn = lane.turn.value;
  if (!turn) return ["", "not run yet"];
  const { record } = turn;
  const since = record.times.first ?? record.times.sent;
  switch (turn.state.value) {
    case "SENT":
    case "QUEUED":
      return ["warn", "queued"];
    case "READING":
      return ["warn", "reading"];
    case "THINKING":
      return ["hot", `thinking ${((clock() - since) / 1000).toFixed(1)} s`];
    case "WRITING": {
      const rate = liveRate(lane);
      return ["hot", rate ? `${rate.toFixed(0)} tok/s` : "writing"];
    }
    case "STOPPED":
      return ["", "stopped"];
    case "CUT":
      return ["warn", "cut off"];
    case "FAILED":
      return ["bad", record.finish ?? "failed"];
    default:
      if (isStale) return ["warn", "changed since"];
      return record.finish === "length" ? ["warn", "at its limit"] : ["good", "done"];
  }
}
