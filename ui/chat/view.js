// The chat: list of conversations, the open one, and the panel beside it.

import { useEffect, useLayoutEffect } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { rename } from "../router.js";
import { Fence } from "../shell/fence.js";
import { ModelChip } from "../shell/model-chip.js";
import { Icon } from "../shell/icons.js";
import { change, gone, NEW, open, runOfOpen, show, stop } from "../state/chats.js";
import { drawer, isBeside, route, showBeside } from "../state/session.js";
import { Composer } from "./composer.js";
import { List } from "./list.js";
import { Transcript } from "./transcript.js";

/** @typedef {HTMLInputElement | HTMLTextAreaElement} Field */

/** What is written beside the messages. */
const FIELDS = ":is(.bar, .panel, .list) :is(input:not([type=radio], [type=checkbox], [type=file]), textarea)";
const KEPT_AT = ["focusin", "change"];
const Panel = later(async () => (await import("./panel.js")).Panel);

export function ChatView() {
  const [id, turn] = route.value.path;
  // Before anything else can be typed: it belongs to the chat that was asked for.
  useLayoutEffect(() => {
    const shown = show(id);
    if (turn) shown.then(async () => (await import("./acts.js")).reach(turn));
    return closeDrawer;
  }, [id, turn]);
  useEffect(() => {
    document.title = open.value.title ? `${open.value.title} · ignis` : "ignis";
  }, [open.value.title]);
  useLayoutEffect(() => {
    // Without a name in the address the open chat stays; its first message names it.
    if ((!id || id === NEW) && open.value.updated) rename("chat", open.value.id);
    else if (id && id === gone.value) rename("chat", NEW);
  }, [route.value.view, id, open.value.id, open.value.updated, gone.value]);
  const [isPanelShown, isListShown] = [isBeside("panel"), isBeside("list")];
  const togglePanel = () => showBeside("panel");
  const press = (/** @type {KeyboardEvent} */ event) => {
    const target = event.target instanceof HTMLElement ? event.target : document.body;
    if (event.key !== "Escape" || target.closest("dialog")) return;
    if (target.matches(FIELDS)) restore(/** @type {Field} */ (target));
    else if (drawer.value) closeDrawer();
    else if (runOfOpen()) stop();
    else target.blur();
  };
  useEffect(() => {
    document.addEventListener("keydown", press);
    for (const kind of KEPT_AT) document.addEventListener(kind, remember);
    return () => {
      document.removeEventListener("keydown", press);
      for (const kind of KEPT_AT) document.removeEventListener(kind, remember);
    };
  });
  return html`<div class=${`chat ${isListShown ? "with-list" : ""} ${isPanelShown ? "with-panel" : ""}`}>
    ${isListShown && html`<${List} />`}
    <main class="middle">
      <header class="bar">
        <button type="button" class="icon-button" aria-label="Chats" aria-expanded=${isListShown} onClick=${() => showBeside("list")}><${Icon} name="menu" /></button>
        <${Title} />
        <${ModelChip} isOfChat=${true} />
        <button type="button" class="icon-button" id="settings-toggle" aria-label="Settings" aria-expanded=${isPanelShown} onClick=${togglePanel}><${Icon} name="sliders" /></button>
      </header>
      <${Transcript} />
      <${Composer} key=${open.value.id} />
    </main>
    ${isPanelShown && html`<${Fence} of=${open.value.id}><aside class="panel" aria-label="Settings of this chat"><${Panel} onClose=${togglePanel} /></aside><//>`}
    ${drawer.value && html`<div class="veil" onClick=${closeDrawer}></div>`}
  </div>`;
}

/** What a field beside the messages had when the focus came to it, or when it was last done with. */
let had = "";

/** @param {Event} event */
function remember({ target }) {
  if (target instanceof HTMLElement && target.matches(FIELDS)) had = /** @type {Field} */ (target).value;
}

/** What was begun in that field is given up, and nothing else ends with it. @param {Field} field */
function restore(field) {
  if (field.value !== had) {
    field.value = had;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  field.blur();
}

function closeDrawer() {
  drawer.value = null;
}

function Title() {
  const { title, id } = open.value;
  const keep = (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    const text = field.value.trim();
    if (text) change({ title: text });
    // A chat has a name: without a new one it keeps its own.
    else field.value = title;
  };
  return html`<h1 tabindex="-1">
    ${title ? html`<input key=${id} class="title" aria-label="Title of this chat" value=${title} onChange=${keep} />` : "New chat"}
  </h1>`;
}
