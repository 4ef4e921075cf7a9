// The conversations by day, the pinned ones above them, or what a search finds in them.

import { useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { CONTROL, unlessGoneOn } from "../parts/sending.js";
import { go } from "../router.js";
import { Icon } from "../shell/icons.js";
import { hasMore, list, more, NEW, open, pin } from "../state/chats.js";
import { running } from "../state/running.js";
import { announce, offerUndo } from "../state/session.js";
import { waiting } from "../state/waiting.js";

const Found = later(async () => (await import("./found.js")).Found);
const Transfer = later(async () => (await import("./transfer.js")).Transfer);
const DAY_MS = 86_400_000;

export function List() {
  const [wanted, setWanted] = useState("");
  /** Of all rows Tab stops at one alone: the one that had the focus last. */
  const [left, leave] = useState("");
  const focused = (/** @type {any} */ { target }) => leave(target.closest("li")?.querySelector("a").hash.slice("#/chat/".length) ?? left);
  const stopOf = (/** @type {import("../state/chats.js").Conversation[]} */ chats) => chats.find(({ id }) => id === left) ?? chats.find(({ id }) => id === open.value.id) ?? chats[0];
  const days = byDay(wanted.trim() ? [] : list.value);
  const stop = stopOf(days.flatMap(([, chats]) => chats));
  const busy = new Set([...running.value.values()].map((run) => run.turn.record.conversation));
  return html`<aside class="list" aria-label="Chats">
    <div class="tools">
      <label class="search"><${Icon} name="search" /><span class="reader">Search chats</span>
        <input type="search" id="search-chats" placeholder="Search chats" value=${wanted} onInput=${(/** @type {any} */ event) => setWanted(event.target.value)} />
        ${!wanted && html`<kbd aria-hidden="true">${CONTROL} K</kbd>`}
      </label>
      <button type="button" class="new button main" id="new-chat" aria-label="New chat" title="New chat" onClick=${startNew}><${Icon} name="plus" /></button>
    </div>
    <div class="scroll" onfocusin=${focused}>
      ${wanted.trim() && html`<${Found} words=${wanted} row=${Row} stopOf=${stopOf} left=${left} />`}
      ${days.map(
        ([day, chats]) => html`<section key=${day}><h2>${day}</h2><ul>
          ${chats.map((chat) => html`<${Row} key=${chat.id} chat=${chat} isStop=${chat === stop} isBusy=${busy.has(chat.id)} />`)}
        </ul></section>`,
      )}
      ${!wanted.trim() && hasMore.value && html`<button type="button" class="link more-chats" onClick=${more}>Show more</button>`}
      ${!wanted.trim() && !list.value.length && html`<p class="none">Your chats will be here, in this browser only.</p>`}
    </div>
    <footer class="shelf"><${Transfer} /></footer>
  </aside>`;
}

function startNew() {
  go("chat", NEW);
  document.getElementById("prompt")?.focus();
}

/** @param {{chat: import("../state/chats.js").Conversation, isStop: boolean, isBusy: boolean}} properties */
function Row({ chat, isStop, isBusy }) {
  const isOpen = open.value.id === chat.id;
  const tab = isStop ? 0 : -1;
  const waits = waiting.value.some((record) => record.conversation === chat.id);
  const drop = async (/** @type {Event} */ event) => {
    const link = /** @type {HTMLElement} */ (event.currentTarget).closest("li")?.querySelector("a");
    const at = rows().findIndex((row) => row === link);
    const follow = unlessGoneOn();
    const { remove } = await import("../state/removing.js");
    const back = await remove(chat.id);
    const undo = async () => {
      const follow = unlessGoneOn();
      await back();
      follow(() => focusRow((row) => row.hash === `#/chat/${chat.id}`));
    };
    offerUndo(`Deleted ${chat.title}`, undo);
    follow(() => focusRow((_, index) => index === at));
  };
  const togglePin = async (/** @type {Event} */ event) => {
    const isOfButton = event.currentTarget === document.activeElement;
    const follow = unlessGoneOn();
    await pin(chat);
    announce(`${chat.title}: ${chat.pinned ? "no longer pinned" : "pinned"}`);
    // It stands elsewhere now, and takes the focus with it.
    follow(() => focusRow((row) => row.hash === `#/chat/${chat.id}`, isOfButton ? ".pin" : "a"));
  };
  return html`<li class=${`${isOpen ? "open" : ""} ${chat.pinned ? "pinned" : ""}`}>
    <a tabindex=${tab} href=${`#/chat/${chat.id}`} aria-current=${isOpen ? "true" : undefined}>
      ${(isBusy || waits) && html`<span class="dot" data-state=${isBusy ? "loading" : "unloaded"} role="img" aria-label=${isBusy ? "answering" : "a message waits"}></span>`}
      <span class="name">${chat.title}</span>
      <time>${when(chat.updated)}</time>
    </a>
    <button type="button" tabindex=${tab} class="icon-button pin" aria-pressed=${Boolean(chat.pinned)} aria-label=${`Pin ${chat.title}`} title=${chat.pinned ? "Unpin" : "Pin"} onClick=${togglePin}><${Icon} name="pin" /></button>
    <button type="button" tabindex=${tab} class="icon-button drop" aria-label=${`Delete ${chat.title}`} title="Delete" onClick=${drop}><${Icon} name="bin" /></button>
  </li>`;
}

/** @returns {HTMLAnchorElement[]} */
const rows = () => [...document.querySelectorAll(/** @type {"a"} */ (".list li a"))];

/** That row, or the last one. @param {(row: HTMLAnchorElement, index: number) => boolean} isIt @param {string} [part] of it */
function focusRow(isIt, part = "a") {
  const row = rows().find(isIt) ?? rows().at(-1);
  /** @type {HTMLElement | null | undefined} */ (row?.closest("li")?.querySelector(part) ?? document.getElementById("new-chat"))?.focus();
}

/** @param {import("../state/chats.js").Conversation[]} chats @returns {[string, import("../state/chats.js").Conversation[]][]} */
function byDay(chats) {
  const today = new Date().setHours(0, 0, 0, 0);
  const pinned = chats.filter((chat) => chat.pinned);
  // A clock that was wrong is no reason to be the newest for as long.
  const groups = new Map([["Pinned", pinned], ["Today", []], ["Dated ahead", []]]);
  for (const chat of chats.filter((each) => !each.pinned)) {
    const age = Math.ceil((today - chat.updated) / DAY_MS);
    const name = chat.updated > Date.now() ? "Dated ahead" : age <= 0 ? "Today" : age === 1 ? "Yesterday" : age < 31 ? "This month" : "Earlier";
    groups.set(name, [...(groups.get(name) ?? []), chat]);
  }
  return [...groups].filter(([, inside]) => inside.length);
}

/** @param {number} ms */
function when(ms) {
  const isToday = new Date(ms).toDateString() === new Date().toDateString();
  return new Date(ms).toLocaleString([], isToday ? { hour: "numeric", minute: "2-digit" } : { day: "numeric", month: "short" });
}
