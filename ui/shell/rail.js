// The places of the page, and what is about the page itself.

import { useEffect, useRef } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { openReference, REFERENCE } from "../router.js";
import { dialog, hasKey, look, route, setLook, useKey } from "../state/session.js";
import { Flame, Icon } from "./icons.js";

const Menu = later(async () => (await import("../parts/menu.js")).Menu);
/** Of the views those for which a phone has no room: they are in its menu. */
const MINOR = new Set(["agents", "decide", "images"]);
/** Of the height that there was, what a keyboard leaves at the most. */
const KEYBOARD_SHARE = 0.75;
const nextTheme = { auto: "light", light: "dark", dark: "auto" };
const themeNames = { auto: "Auto", light: "Light", dark: "Dark" };

/** @param {{views: {name: string, label: string, icon: import("./icons.js").IconName}[]}} properties */
export function Rail({ views }) {
  const rail = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => heedKeyboard(/** @type {HTMLElement} */ (rail.current)), []);
  const theme = /** @type {keyof typeof nextTheme} */ (look.value.theme in nextTheme ? look.value.theme : "auto");
  const turnTheme = () => setLook({ theme: nextTheme[theme] });
  const more = [
    ...views.filter(({ name }) => MINOR.has(name)).map(({ name, label }) => ({ label, act: () => (location.hash = `#/${name}`) })),
    { label: "Find anything", act: () => (dialog.value = "palette") },
    { label: "API", act: openReference, isApart: true },
    { label: "Theme", about: themeNames[theme], act: turnTheme },
    ...(hasKey.value ? [{ label: "Forget the API key", act: () => useKey("") }] : []),
  ];
  return html`<nav class="rail" aria-label="Views" ref=${rail}>
    <a class="flame" href="#/chat/new" aria-label="ignis, new chat"><${Flame} /></a>
    ${views.map(
      ({ name, label, icon }) => html`<a class=${`place ${MINOR.has(name) ? "minor" : ""}`} href=${`#/${name}`} aria-current=${route.value.view === name ? "page" : undefined}>
        <${Icon} name=${icon} />${label}
      </a>`,
    )}
    <div class="rest"></div>
    ${hasKey.value && html`<button type="button" class="minor" onClick=${() => useKey("")} title="Forget the API key of this tab"><${Icon} name="bin" />Key</button>`}
    <button type="button" class="minor" id="keys" onClick=${() => (dialog.value = "keys")} title="Keys, text size, theme (?)"><${Icon} name="keys" />Keys</button>
    <a class="place minor" href=${REFERENCE} target="_blank" rel="noopener" title="The API, field by field, in a tab of its own"><${Icon} name="docs" />API</a>
    <button type="button" class="minor" onClick=${turnTheme} title="Light, dark or the system's" aria-label=${`Theme: ${themeNames[theme]}`}>
      <${Icon} name="theme" />${themeNames[theme]}
    </button>
    <${Menu} id="more" label="More" kind="place more" face=${html`<${Icon} name="more" />More`} items=${more} />
  </nav>`;
}

/** While a keyboard takes the lower part of a phone, the bar leaves its room to what is written. @param {HTMLElement} rail */
function heedKeyboard(rail) {
  let [width, tallest] = [0, 0];
  const look = () => {
    if (innerWidth !== width) [width, tallest] = [innerWidth, 0];
    const height = visualViewport?.height ?? innerHeight;
    tallest = Math.max(tallest, height);
    const isWriting = document.activeElement?.matches("textarea, input") ?? false;
    rail.toggleAttribute("data-typing", isWriting && matchMedia("(pointer: coarse)").matches && height < KEYBOARD_SHARE * tallest);
  };
  look();
  visualViewport?.addEventListener("resize", look);
}
