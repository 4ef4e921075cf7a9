// The text of an answer in its place on the page, drawn as it comes.

import { isJson, markdownOf } from "../state/turn.js";
import { follow } from "./frame.js";
import { AnswerText } from "./sheet.js";

/** Where its text will be drawn. @param {import("../state/turn.js").Turn} turn */
export function viewOf(turn) {
  const view = new AnswerText();
  // One line may be all of it.
  view.element.classList.toggle("json", isJson(turn.record));
  return view;
}

/**
 * Shows the answer and goes on doing so while it runs. Returns what ends that.
 * @param {import("../state/turn.js").Turn} turn @param {HTMLElement} place @param {() => void} [onDrawn] after each time
 */
export function showAnswer(turn, place, onDrawn) {
  const view = viewOf(turn);
  const draw = () => {
    view.show(markdownOf(turn.record));
    if (!turn.isRunning) view.end();
    onDrawn?.();
    return turn.isRunning;
  };
  // What is shown is whole before it is there, so that no frame lacks it.
  if (turn.isRunning) draw();
  else view.open(markdownOf(turn.record));
  place.replaceChildren(view.element);
  return follow({ draw });
}
