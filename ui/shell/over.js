// What lies over the page, whatever view it shows; each comes when it is first wanted.

import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { incoming } from "../state/transfer.js";
import { Announcer } from "./announcer.js";

const Incoming = later(async () => (await import("./incoming.js")).Incoming);

export function Over() {
  return html`<${Announcer} />${incoming.value && html`<${Incoming} />`}`;
}
