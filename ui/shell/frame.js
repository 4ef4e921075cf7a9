// The frame around every view. A part that throws is said to have failed, and the rest lives.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later, patient } from "../parts/later.js";
import { leadHome } from "../router.js";
import { isConnected, isKeyWanted, route, undoable } from "../state/session.js";
import { Banner } from "./banner.js";
import { Fence } from "./fence.js";
import { Rail } from "./rail.js";

/**
 * @typedef {import("../vendor/preact.js").ComponentType} ViewType
 * @typedef {{name: string, label: string, icon: import("./icons.js").IconName, load: () => Promise<ViewType>}} Place
 */

const Over = later(async () => (await import("./over.js")).Over);
const KeyPrompt = later(async () => (await import("./key-prompt.js")).KeyPrompt);
const Toast = later(async () => (await import("../parts/toast.js")).Toast);

/** @param {{views: Place[], first: ViewType}} properties first: what is shown at once, of the first of the views */
export function Frame({ views, first }) {
  const place = views.find(({ name }) => name === route.value.view) ?? views[0];
  const isChat = place === views[0];
  useEffect(() => {
    leadHome(views.map(({ name }) => name));
  }, [route.value.view]);
  return html`<a class="skip" href=${isChat ? "#prompt" : "#view"} onClick=${toContent}>${isChat ? "To the message field" : "To the content"}</a>
    <${Rail} views=${views} />
    <${Banner} />
    <div id="view"><${Fence} key=${place.name}><${View} place=${place} first=${isChat ? first : null} /><//></div>
    ${isKeyWanted.value && html`<${KeyPrompt} />`}
    ${undoable.value.length > 0 && html`<${Toast} />`}
    <${Over} views=${views} />`;
}

/** The view of that place once it is here. @param {{place: Place, first: ViewType | null}} properties */
function View({ place, first }) {
  const [View, setView] = useState(() => first);
  const [failure, setFailure] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    if (View) return;
    patient(place.load).then((loaded) => setView(() => loaded), setFailure);
  }, [place]);
  useEffect(() => {
    // A person who came by a link or a key hears where it led to; the first view leaves the focus to its composer.
    if (View && !first && !document.querySelector("#view :focus")) /** @type {HTMLElement | null} */ (document.querySelector("#view h1"))?.focus();
  }, [View]);
  if (failure) throw failure;
  if (View) return html`<${View} />`;
  return !isConnected.value && html`<p class="failed-part" role="status">${place.label} comes as soon as the server is back.</p>`;
}

/** @param {Event} event */
function toContent(event) {
  // The hash is where the page is, and stays.
  event.preventDefault();
  const place = document.getElementById("prompt") ?? document.querySelector("#view h1");
  /** @type {HTMLElement | null} */ (place)?.focus();
}
