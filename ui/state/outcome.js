// How lanes come out: one that fails, and a run of several for those who hear the page.

import { ApiError, isAbort } from "../api/errors.js";
import { announce } from "./session.js";

/** @param {import("./lane.js").Lane[]} lanes */
export function announceEnd(lanes) {
  const states = lanes.map((lane) => lane.turn.value?.record.state);
  const numFailed = states.filter((state) => state === "FAILED" || state === "CUT").length;
  const numDone = states.filter((state) => state === "DONE").length;
  announce(`${numDone} of ${states.length} done${numFailed ? `, ${numFailed} failed` : ""}`, numFailed > 0);
}

/** An answer that ended before its end, by what was thrown. @param {import("./turn.js").Turn} turn @param {unknown} error */
export function fail(turn, error) {
  if (isAbort(error)) return turn.advance("stop");
  const isKnown = error instanceof ApiError;
  turn.record.failure = error instanceof Error ? `${isKnown || error instanceof SyntaxError ? "" : "This page failed: "}${error.message}` : String(error);
  turn.record.finish = isKnown ? error.code : null;
  turn.advance(isKnown && error.isLost ? "lost" : "failed");
}
