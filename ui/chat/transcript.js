// Where the chat is read: its turns, or what there is to begin with.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { Fence } from "../shell/fence.js";
import { here } from "../state/chats.js";
import { hasNoModel } from "../state/server.js";
import { sending } from "../state/session.js";
import { path } from "../state/tree.js";

const Turns = later(async () => (await import("./turns.js")).Turns);
const FirstModel = later(async () => (await import("./first-model.js")).FirstModel);

const EXAMPLES = [
  "Explain photosynthesis in two sentences.",
  "Write a Python function that checks for a palindrome.",
  "Give me three names for a small bakery, as a list.",
  "Why is the sky blue?",
];

export function Transcript() {
  const [scroller, setScroller] = useState(/** @type {HTMLElement | null} */ (null));
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => setScroller(place.current), []);
  return html`<div class="transcript" ref=${place} tabindex="-1">
    <${Fence}>${path.value.length ? scroller && html`<${Turns} scroller=${scroller} />` : html`<${Welcome} />`}<//>
  </div>`;
}

function Welcome() {
  if (hasNoModel.value) return html`<${FirstModel} />`;
  return html`<section class="welcome" aria-label="Suggestions">
    <h2>Ask the model</h2>
    <p>It runs on this server, and what you write goes nowhere else.</p>
    <ul id="suggestions">${EXAMPLES.map((text) => html`<li key=${text}><button type="button" class="button" onClick=${() => ask(text)}>${text}</button></li>`)}</ul>
  </section>`;
}

/** @param {string} text */
async function ask(text) {
  const from = here();
  const { send } = await import("../state/outbox.js");
  await sending(() => send(text, false, [], from));
}
