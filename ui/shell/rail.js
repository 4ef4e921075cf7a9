// The places of the page, and what is about the page itself.

import { html } from "../parts/html.js";
import { hasKey, look, route, setLook, useKey } from "../state/session.js";
import { Flame, Icon } from "./icons.js";

const nextTheme = { auto: "light", light: "dark", dark: "auto" };
const themeNames = { auto: "Auto", light: "Light", dark: "Dark" };

/** @param {{views: {name: string, label: string, icon: import("./icons.js").IconName}[]}} properties */
export function Rail({ views }) {
  const theme = /** @type {keyof typeof nextTheme} */ (look.value.theme in nextTheme ? look.value.theme : "auto");
  return html`<nav class="rail" aria-label="Views">
    <a class="flame" href="#/chat" aria-label="ignis, new chat"><${Flame} /></a>
    ${views.map(
      ({ name, label, icon }) => html`<a class="place" href=${`#/${name}`} aria-current=${route.value.view === name ? "page" : undefined}>
        <${Icon} name=${icon} />${label}
      </a>`,
    )}
    <div class="rest"></div>
    ${hasKey.value && html`<button type="button" onClick=${() => useKey("")} title="Forget the API key of this tab"><${Icon} name="bin" />Key</button>`}
    <a class="place" href="../v1/docs/" title="The API, field by field"><${Icon} name="docs" />API</a>
    <button type="button" onClick=${() => setLook({ theme: nextTheme[theme] })} title="Light, dark or the system's" aria-label=${`Theme: ${themeNames[theme]}`}>
      <${Icon} name="theme" />${themeNames[theme]}
    </button>
  </nav>`;
}
