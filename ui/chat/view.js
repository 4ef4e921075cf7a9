// The chat: list of conversations, the open one, and the panel beside it.

import { useEffect, useLayoutEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { go } from "../router.js";
import { Fence } from "../shell/fence.js";
import { ModelChip } from "../shell/model-chip.js";
import { Icon } from "../shell/icons.js";
import { change, open, runOfOpen, show, stop } from "../state/chats.js";
import { look, route, setLook } from "../state/session.js";
import { Composer } from "./composer.js";
import { List, startNew } from "./list.js";
import { Transcript } from "./transcript.js";

const Panel = later(async () => (await import("./panel.js")).Panel);
const NARROW = matchMedia("(max-width: 79.99rem)");
const PHONE = matchMedia("(max-width: 69.99rem)");

export function ChatView() {
  const [isDrawerOpen, setDrawer] = useState(false);
  const [isOverlayOpen, setOverlay] = useState(false);
  const id = route.value.path[0];
  // Before anything else can be typed: it belongs to the chat that was asked for.
  useLayoutEffect(() => {
    // Without a name in the address the open chat stays until its first message names it.
    show(id);
    setDrawer(false);
  }, [id]);
  useEffect(() => {
    document.title = open.value.title ? `${open.value.title} · ignis` : "ignis";
  }, [open.value.title]);
  useLayoutEffect(() => {
    if (id !== open.value.id && open.value.updated && !id) go("chat", open.value.id);
  }, [open.value.updated]);
  const isPanelShown = NARROW.matches ? isOverlayOpen : look.value.isPanelOpen;
  const isListShown = PHONE.matches ? isDrawerOpen : look.value.isListOpen;
  const togglePanel = () => (NARROW.matches ? setOverlay(!isOverlayOpen) : setLook({ isPanelOpen: !isPanelShown }));
  const toggleList = () => (PHONE.matches ? setDrawer(!isDrawerOpen) : setLook({ isListOpen: !isListShown }));
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.target instanceof HTMLElement && event.target.closest("dialog")) return;
    if (event.key === "Escape") {
      if (isDrawerOpen || isOverlayOpen) {
        setDrawer(false);
        setOverlay(false);
      } else if (runOfOpen()) stop();
      else if (event.target instanceof HTMLElement) event.target.blur();
    } else pressed(event, togglePanel);
  };
  useEffect(() => {
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  });
  return html`<div class=${`chat ${isListShown ? "with-list" : ""} ${isPanelShown ? "with-panel" : ""}`}>
    ${isListShown && html`<${List} />`}
    <main class="middle">
      <header class="bar">
        <button type="button" class="icon-button" aria-label="Chats" aria-expanded=${isListShown} onClick=${toggleList}><${Icon} name="menu" /></button>
        <${Title} />
        <${ModelChip} />
        <button type="button" class="icon-button" id="settings-toggle" aria-label="Settings" aria-expanded=${isPanelShown} onClick=${togglePanel}><${Icon} name="sliders" /></button>
      </header>
      <${Transcript} />
      <${Composer} key=${open.value.id} />
    </main>
    ${isPanelShown && html`<${Fence}><aside class="panel" aria-label="Settings of this chat"><${Panel} onClose=${togglePanel} /></aside><//>`}
    ${(isDrawerOpen || isOverlayOpen) && html`<div class="veil" onClick=${() => (setDrawer(false), setOverlay(false))}></div>`}
  </div>`;
}

/** The keys of the chat, wherever the focus is; those of one turn are the turn's. @param {KeyboardEvent} event @param {() => void} togglePanel */
function pressed(event, togglePanel) {
  const hasControl = event.ctrlKey || event.metaKey;
  const isWriting = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  const prompt = document.getElementById("prompt");
  if (event.key === "/" && !isWriting && !hasControl && !event.altKey) prompt?.focus();
  else if (hasControl && event.key === ".") togglePanel();
  else if (hasControl && event.shiftKey && event.code === "KeyO") startNew();
  else return;
  event.preventDefault();
}

function Title() {
  const { title, id } = open.value;
  const keep = (/** @type {Event} */ event) => {
    const text = /** @type {HTMLInputElement} */ (event.target).value.trim();
    if (text) change({ title: text });
  };
  return html`<h1 tabindex="-1">
    ${title ? html`<input key=${id} class="title" aria-label="Title of this chat" value=${title} onChange=${keep} />` : "New chat"}
  </h1>`;
}
