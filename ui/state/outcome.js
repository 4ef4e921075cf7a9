// How a run of several lanes came out, for those who hear the page.

import { announce } from "./session.js";

/** @param {import("./lane.js").Lane[]} lanes */
export function announceEnd(lanes) {
  const states = lanes.map((lane) => lane.turn.value?.record.state);
  const numFailed = states.filter((state) => state === "FAILED" || state === "CUT").length;
  const numDone = states.filter((state) => state === "DONE").length;
  announce(`${numDone} of ${states.length} done${numFailed ? `, ${numFailed} failed` : ""}`, numFailed > 0);
}
