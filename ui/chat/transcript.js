// Where the chat is read: its turns, or what there is to begin with.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { Fence } from "../shell/fence.js";
import { here, open } from "../state/chats.js";
import { missing, respondent } from "../state/respondent.js";
import { hasNoModel } from "../state/server.js";
import { sending } from "../state/session.js";
import { path } from "../state/tree.js";

export const Turns = later(async () => (await import("./turns.js")).Turns);
const FirstModel = later(async () => (await import("./first-model.js")).FirstModel);

/** What to begin with, by kind. @type {[kind: string, text: string][]} */
const EXAMPLES = [
  ["Text", "Explain photosynthesis in two sentences."],
  ["Code", "Write a Python function that checks for a palindrome."],
  ["JSON", "Give me three names for a small bakery, as a list in JSON."],
];
const OF_ALL = "Why is the sky blue?";
const OF_PICTURE = "What is in this picture?";

export function Transcript() {
  const [scroller, setScroller] = useState(/** @type {HTMLElement | null} */ (null));
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => setScroller(place.current), []);
  return html`<div class="transcript" ref=${place} tabindex="-1">
    <${Fence} of=${open.value.id}>${path.value.length ? scroller && html`<${Turns} scroller=${scroller} />` : html`<${Welcome} />`}<//>
  </div>`;
}

function Welcome() {
  if (hasNoModel.value) return html`<${FirstModel} />`;
  return html`<section class="welcome" aria-label="Suggestions">
    <h2>Ask the model</h2>
    <p>It runs on this server, and what you write goes nowhere else.</p>
    <ul id="suggestions">
      ${EXAMPLES.map(([kind, text]) => html`<${Example} key=${kind} kind=${kind} text=${text} onPick=${ask} />`)}
      ${respondent.value?.capabilities?.vision
        ? html`<${Example} key="last" kind="Picture" text=${OF_PICTURE} onPick=${askOfPicture} />`
        : html`<${Example} key="last" kind="Text" text=${OF_ALL} onPick=${ask} />`}
    </ul>
  </section>`;
}

/** @param {{kind: string, text: string, onPick: (text: string) => void}} properties */
function Example({ kind, text, onPick }) {
  return html`<li><button type="button" class="button" onClick=${() => onPick(text)}><span class="about" aria-hidden="true">${kind}</span>${text}</button></li>`;
}

/** The words stand where the next message is written. @param {string} text */
function write(text) {
  const prompt = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("prompt"));
  if (prompt && !prompt.value.trim()) {
    prompt.value = text;
    prompt.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** A picture is chosen first. @param {string} text */
function askOfPicture(text) {
  write(text);
  /** @type {HTMLElement | null} */ (document.querySelector(".composer input[type=file]"))?.click();
}

/** The chat in which one was asked last. */
let asked = "";

/** @param {string} text */
async function ask(text) {
  // Until its model is loaded it would be refused.
  if (missing.value) return write(text);
  const from = here();
  // A double press is one.
  if (asked === from.conversation.id) return;
  asked = from.conversation.id;
  try {
    const { send } = await import("../state/outbox.js");
    await sending(() => send(text, false, [], from));
  } finally {
    asked = "";
  }
}
