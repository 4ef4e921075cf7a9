// The text of an answer in its place on the page, drawn as it comes.

import { follow } from "./frame.js";
import { AnswerText } from "./sheet.js";

/**
 * Shows the answer and goes on doing so while it runs. Returns what ends that.
 * @param {import("../state/turn.js").Turn} turn @param {HTMLElement} place @param {() => void} [onDrawn] after each time
 */
export function showAnswer(turn, place, onDrawn) {
  const view = new AnswerText();
  const draw = () => {
    view.show(turn.record.text);
    if (!turn.isRunning) view.end();
    onDrawn?.();
    return turn.isRunning;
  };
  // What is shown is whole before it is there, so that no frame lacks it.
  if (turn.isRunning) draw();
  else view.open(turn.record.text);
  place.replaceChildren(view.element);
  return follow({ draw });
}
