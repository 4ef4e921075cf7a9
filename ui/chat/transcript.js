// The turns of the path that is shown, and the way to its end.

import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";
import { open } from "../state/chats.js";
import { send } from "../state/talk.js";
import { path } from "../state/tree.js";
import { Follow } from "./follow.js";
import { AnswerTurn } from "./turn.js";
import { UserTurn } from "./user-turn.js";

const EXAMPLES = [
  "Explain photosynthesis in two sentences.",
  "Write a Python function that checks for a palindrome.",
  "Give me three names for a small bakery, as a list.",
  "Why is the sky blue?",
];

export function Transcript() {
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  const follow = useRef(/** @type {Follow | null} */ (null));
  const [isFollowing, setFollowing] = useState(true);
  useEffect(() => {
    follow.current = new Follow(/** @type {HTMLElement} */ (scroller.current), setFollowing);
    return () => follow.current?.close();
  }, []);
  const turns = path.value;
  // A new chat, and each new question, begins at the end.
  useLayoutEffect(() => follow.current?.toEnd(), [open.value.id, turns.length]);
  return html`<div class="transcript" ref=${scroller} tabindex="-1">
    ${turns.length
      ? html`<div class="turns" id="log">
          ${turns.map((turn) => (turn.record.role === "user" ? html`<${UserTurn} key=${turn.id} turn=${turn} />` : html`<${AnswerTurn} key=${turn.id} turn=${turn} />`))}
        </div>`
      : html`<${Welcome} />`}
    ${!isFollowing && html`<button type="button" class="to-end button" onClick=${() => follow.current?.toEnd()}><${Icon} name="down" />To the end</button>`}
  </div>`;
}

function Welcome() {
  return html`<section class="welcome" aria-label="Suggestions">
    <h2>Ask the model</h2>
    <p>It runs on this server, and what you write goes nowhere else.</p>
    <ul id="suggestions">${EXAMPLES.map((text) => html`<li key=${text}><button type="button" class="button" onClick=${() => send(text)}>${text}</button></li>`)}</ul>
  </section>`;
}
