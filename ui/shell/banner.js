// What is wrong with the page's surroundings: no server, or no place to keep chats.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { isReplaced, nextTryAt, watch } from "../state/server.js";
import { isStoreFull, lostAt, storageProblem } from "../state/session.js";

export function Banner() {
  return html`${lostAt.value !== null && html`<${Lost} since=${lostAt.value} />`}
  ${isReplaced.value &&
  html`<div class="banner" role="status"><span>The server was replaced by another version</span>
    <button type="button" onClick=${() => location.reload()}>Reload</button>
    <button type="button" onClick=${() => (isReplaced.value = false)}>Not now</button></div>`}
  ${storageProblem.value && html`<div class="banner" role="status"><span>${storageProblem.value}</span>
    ${isStoreFull.value && html`<button type="button" onClick=${exportAll}>Export all chats</button>`}</div>`}`;
}

async function exportAll() {
  await (await import("../state/transfer.js")).exportAll();
}

/** @param {{since: number}} properties */
function Lost({ since }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const waitS = Math.max(0, Math.ceil((nextTryAt.value - now) / 1000));
  const time = new Date(since).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return html`<div class="banner" role="status">
    <span>No server at ${location.host} since ${time}</span>
    <span aria-hidden="true">${waitS ? `trying again in ${waitS} s` : "trying"}</span>
    <button type="button" onClick=${() => watch()}>Now</button>
  </div>`;
}
