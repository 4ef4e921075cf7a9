// The server: what serves, the models there are, its log and its configuration; three pages where there is no room.

import { useEffect } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { Fence } from "../shell/fence.js";
import { ModelChip } from "../shell/model-chip.js";
import { edits } from "../state/config.js";
import { collect } from "../state/samples.js";
import { loaded, status, version } from "../state/server.js";
import { hasKey, route } from "../state/session.js";
import { Config } from "./config.js";
import { Log } from "./log.js";
import { Models } from "./models.js";
import { Now } from "./now.js";

const PAGES = /** @type {const} */ ([["models", "Models"], ["config", "Configuration"], ["log", "Log"]]);

export function ServerView() {
  useEffect(() => {
    document.title = "Server · ignis";
    collect();
  }, []);
  const page = PAGES.find(([name]) => name === route.value.path[0])?.[0] ?? "models";
  const state = status.value === "away" || status.value === "" ? status.value : "serving";
  return html`<main class="server" data-page=${page}>
    <header class="bar">
      <h1 tabindex="-1">Server</h1>
      <span class="where"><span class="dot" data-state=${state} aria-hidden="true"></span>${location.host}<span class="quiet">${hasKey.value ? "with a key" : "no key"}</span></span>
      <span class="rest"></span>
      <span class="quiet device">${[version.value && `ignis ${version.value}`, loaded.value?.device].filter(Boolean).join(" · ")}</span>
      <${ModelChip} />
    </header>
    <nav class="pages" aria-label="Parts of the server">
      ${PAGES.map(([name, label]) => html`<a key=${name} href=${`#/server/${name}`} aria-current=${page === name ? "true" : undefined}>${label}${name === "config" && edits.value.size > 0 && html`<b aria-label=${`${edits.value.size} changed`}>${edits.value.size}</b>`}</a>`)}
    </nav>
    <div class="board">
      <div class="left"><${Fence}><${Now} /><//><${Fence}><${Models} /><//><${Fence}><${Log} /><//></div>
      <${Fence}><${Config} /><//>
    </div>
  </main>`;
}
