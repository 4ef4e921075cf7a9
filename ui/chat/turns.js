// The turns of the path that is shown, and the way to its end.

import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { Fence } from "../shell/fence.js";
import { Icon } from "../shell/icons.js";
import { offer } from "../state/actions.js";
import { open, runOfOpen } from "../state/chats.js";
import { path } from "../state/tree.js";
import { chatActions } from "./actions.js";
import { Follow } from "./follow.js";
import { pressed } from "./keys.js";
import { AnswerTurn } from "./turn.js";
import { UserTurn } from "./user-turn.js";

/** @param {{scroller: HTMLElement}} properties */
export function Turns({ scroller }) {
  const follow = useRef(/** @type {Follow | null} */ (null));
  const [missed, setMissed] = useState(/** @type {number | null} */ (null));
  // Before the effects below, and before the frame in which text that is here already is drawn.
  useLayoutEffect(() => {
    follow.current = new Follow(scroller, setMissed);
    document.addEventListener("keydown", pressed);
    return () => {
      follow.current?.close();
      document.removeEventListener("keydown", pressed);
    };
  }, []);
  const isAnswering = runOfOpen() !== null;
  useEffect(() => offer(chatActions()), [isAnswering]);
  const turns = path.value;
  const last = turns[turns.length - 1];
  const { id } = open.value;
  // A chat that is opened begins at its end.
  useLayoutEffect(() => follow.current?.toEnd(), [id]);
  useLayoutEffect(() => {
    // A question just sent goes to the top third, and its answer grows under it.
    if (last?.isRunning) follow.current?.toQuestion();
  }, [last?.id]);
  return html`<div class="turns" id="log">
      ${turns.map(
        (turn) => html`<${Fence} key=${turn.id}>${turn.record.role === "user" ? html`<${UserTurn} turn=${turn} />` : html`<${AnswerTurn} turn=${turn} />`}<//>`,
      )}
    </div>
    ${missed !== null &&
    html`<button type="button" class="to-end button" onClick=${() => follow.current?.toEnd()}>
      <${Icon} name="down" />To the end${missed ? html`<span class="about">${missed} new ${missed === 1 ? "line" : "lines"}</span>` : null}
    </button>`}`;
}
