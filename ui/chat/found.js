// What a search found: chats by their titles, and turns by their texts, as they are come upon.

import { useEffect } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { count } from "../parts/format.js";
import { halt, readTitles, search, searched, titles } from "../state/search.js";
import { reach } from "./acts.js";

/**
 * @param {{words: string, row: import("../vendor/preact.js").ComponentType<any>, stopOf: (chats: import("../state/chats.js").Conversation[]) => unknown, left: string}} properties
 *   row: what shows a chat of the list; stopOf: the one at which Tab stops; left: the address of what had the focus last
 */
export function Found({ words, row, stopOf, left }) {
  useEffect(() => {
    search(words);
    readTitles();
  }, [words]);
  useEffect(() => halt, []);
  const { chats, hits, numRead, isDone } = searched.value;
  const named = new Map(titles.value.map(({ id, title }) => [id, title]));
  const addressOf = (/** @type {import("../store/search.js").Hit} */ { conversation, turn }) => `${conversation}/${turn}`;
  const stop = hits.find((hit) => addressOf(hit) === left) ?? hits[0];
  const state = isDone ? (hits.length || chats.length ? "" : "No chat has that in its title or text.") : `Reading… ${count(numRead)} turns so far`;
  return html`${chats.length > 0 && html`<section><h2>Titles</h2><ul>${chats.map((chat) => html`<${row} key=${chat.id} chat=${chat} isStop=${chat === stopOf(chats)} isBusy=${false} />`)}</ul></section>`}
    ${hits.length > 0 &&
    html`<section class="hits"><h2>Texts</h2><ul>${hits.map(
      ({ turn, conversation, role, before, match, after }, at) => html`<li key=${turn}>
        <a tabindex=${hits[at] === stop ? 0 : -1} href=${`#/chat/${addressOf(hits[at])}`} onClick=${() => location.hash.endsWith(`/${turn}`) && reach(turn)}>
          <span class="about">${named.has(conversation) && html`<span class="in">${named.get(conversation)}</span> · `}${role === "user" ? "you" : "answer"}</span>
          <span class="hit">${before}<mark>${match}</mark>${after}</span>
        </a></li>`,
    )}</ul></section>`}
    <p class="none" role="status">${state}</p>`;
}
