// A server without a model: one card, with the smallest that can be fetched, and how far it has come.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { bytes, count, span } from "../parts/format.js";
import { Reason } from "../parts/reason.js";
import { Flame, Icon } from "../shell/icons.js";
import { catalog, downloads, fetchModel, isMoving, look, refusal, stopFetching } from "../state/downloads.js";
import { course, failure, status } from "../state/server.js";

/** @typedef {import("../state/downloads.js").Entry} Entry */

export function FirstModel() {
  const [picked, setPicked] = useState(/** @type {string | null} */ (null));
  const [isListOpen, setListOpen] = useState(false);
  useEffect(() => look(), []);
  if (!catalog.value) return null;
  const { data, can_download: canDownload } = catalog.value;
  const bySize = [...data].sort((one, other) => one.size_bytes - other.size_bytes);
  // What comes, what the person picked, what was begun before (the operator may have named it), the smallest.
  const entry =
    data.find(({ id }) => isMoving(downloads.value.get(id))) ??
    data.find(({ id }) => id === picked) ??
    data.find(({ id }) => downloads.value.has(id)) ??
    bySize[0];
  if (!entry) return html`<section class="first-model"><h2>No model is here</h2><p>Start the server with <code>--model-artifact</code> and the path of one.</p></section>`;
  const download = downloads.value.get(entry.id);
  const reason = refusal.value || failure.value || (download?.state === "failed" && download.reason) || (status.value === "failed" && course.value.reason);
  const isComing = isMoving(download) || entry.presence === "complete";
  return html`<section class="first-model" aria-labelledby="first-model-title">
    <span class="flame"><${Flame} /></span>
    <h2 id="first-model-title">${isComing ? "Your model is on its way" : "Pick a first model"}</h2>
    <p>${isComing ? "You can write your first message meanwhile." : `Nothing is on this disk yet.${entry === bySize[0] ? " This one is small and fits any machine." : ""}`}</p>
    <div class="offer">
      <p><strong>${entry.title || entry.id}</strong><span class="tag info">${bytes(entry.size_bytes)}</span></p>
      <p class="about">${about(entry)}</p>
      ${isComing
        ? html`<${Progress} entry=${entry} />`
        : html`<button type="button" class="button main" id="download" disabled=${!canDownload} onClick=${() => fetchModel(entry.id, true)}>
            <${Icon} name="download" />${entry.presence === "partial" ? "Go on and chat" : "Download and chat"}
          </button>`}
      ${!canDownload && html`<p class="about">Downloads are switched off here by <code>download.enabled</code>.</p>`}
      ${reason && !isComing && html`<div class="ending bad" role="alert"><${Reason} text=${reason} short=${`${entry.title || entry.id} did not come.`} /></div>`}
    </div>
    ${bySize.length > 1 && !isComing && html`<button type="button" class="link" aria-expanded=${isListOpen} onClick=${() => setListOpen(!isListOpen)}>${isListOpen ? "See fewer" : `See all ${bySize.length} models`}</button>`}
    ${isListOpen && !isComing && html`<ul>${bySize.map((each) => html`<li key=${each.id}><button type="button" class="row" aria-pressed=${each === entry} onClick=${() => setPicked(each.id)}>
      <span class="name">${each.title || each.id}</span><span>${bytes(each.size_bytes)}</span><span class="about">${about(each)}</span>
    </button></li>`)}</ul>`}
  </section>`;
}

/** @param {{entry: Entry}} properties */
function Progress({ entry }) {
  const download = downloads.value.get(entry.id);
  if (!download || !isMoving(download)) return html`<p role="status">It is here, and being loaded<span class="caret"></span></p>`;
  const { done_bytes: done, total_bytes: total, bytes_per_second: rate, state, reason } = download;
  const left = rate > 0 ? `, ${span((total - done) / rate)} left` : "";
  return html`<div class="progress-place">
    <progress max=${total} value=${done} aria-label=${`Download of ${entry.title || entry.id}`}></progress>
    <p class="about" role="status">${reason ? html`<${Reason} text=${reason} short="The server that has it does not give it. It is asked again." />` : state === "waiting" ? "Waits for another download" : `${bytes(done)} of ${bytes(total)}, ${bytes(rate)}/s${left}`}</p>
    <button type="button" class="link" onClick=${() => stopFetching(entry.id)}>Pause</button>
  </div>`;
}

/** @param {Entry} entry */
function about({ parameters, format, context_tokens: context, licence }) {
  const size = parameters ? `${parameters >= 1e9 ? `${(parameters / 1e9).toFixed(1)} G` : `${Math.round(parameters / 1e6)} M`} parameters` : "";
  const parts = [size, format, context ? `${count(context)} tokens` : "", licence].filter(Boolean);
  return parts.map((part, at) => html`<span class="part">${part}${at < parts.length - 1 && " ·"}</span> `);
}
