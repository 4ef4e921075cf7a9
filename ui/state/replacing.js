// A lane that is asked once more: the answer that was there comes back by Undo, for a while.

import { offerUndo } from "./session.js";

/**
 * Returns once the new answer has ended.
 * @param {import("./series.js").Series} series @param {import("./lane.js").Lane} lane @param {() => Promise<void>} ask
 */
export function replacing(series, lane, ask) {
  const { hasText, numPieces, turn: { value: before } } = lane;
  const asked = ask();
  const bringBack = async () => {
    lane.stop();
    // What came in its place is kept at its end, and would be kept over it.
    await asked;
    if (series.isElsewhere.value) return;
    lane.turn.value = before;
    lane.numPieces = numPieces;
    await series.keep();
  };
  if (hasText || before?.record.tools.length) offerUndo("Replaced an answer", bringBack);
  return asked;
}
