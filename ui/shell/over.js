// What lies over the page, whatever view it shows; each comes when it is first wanted.

import { useEffect, useLayoutEffect } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { dialog } from "../state/session.js";
import { incoming } from "../state/transfer.js";
import { Announcer } from "./announcer.js";
import { Fence } from "./fence.js";
import { keepFocus } from "./focus.js";
import { listen } from "./keys.js";

const ClearChats = later(async () => (await import("./clear-chats.js")).ClearChats);
const Incoming = later(async () => (await import("./incoming.js")).Incoming);
const KeySheet = later(async () => (await import("./key-sheet.js")).KeySheet);
const Palette = later(async () => (await import("./palette.js")).Palette);

/** @param {{views: import("./frame.js").Place[]}} properties */
export function Over({ views }) {
  useLayoutEffect(() => listen(views.map(({ name }) => name)), []);
  useEffect(keepFocus, []);
  return html`<${Announcer} />
    <${Fence} key=${dialog.value}>
      ${incoming.value && html`<${Incoming} />`}
      ${dialog.value === "palette" && html`<${Palette} views=${views} />`}
      ${dialog.value === "keys" && html`<${KeySheet} />`}
      ${dialog.value === "clear" && html`<${ClearChats} />`}
    <//>`;
}
