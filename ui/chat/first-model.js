// A server without a model: one card, with the smallest that can be fetched, and how far it has come.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { bytes, count, span } from "../parts/format.js";
import { Flame } from "../shell/icons.js";
import { catalog, downloads, fetchModel, isMoving, look, refusal, stopFetching } from "../state/downloads.js";
import { course, failure } from "../state/server.js";

/** @typedef {import("../state/downloads.js").Entry} Entry */

export function FirstModel() {
  const [picked, setPicked] = useState(/** @type {string | null} */ (null));
  const [isListOpen, setListOpen] = useState(false);
  useEffect(() => look(), []);
  if (!catalog.value) return null;
  const { data, can_download: canDownload } = catalog.value;
  const bySize = [...data].sort((one, other) => one.size_bytes - other.size_bytes);
  const entry = data.find(({ id }) => isMoving(downloads.value.get(id))) ?? data.find(({ id }) => id === picked) ?? bySize[0];
  if (!entry) return html`<section class="first-model"><h2>No model is here</h2><p>Start the server with <code>--model-artifact</code> and the path of one.</p></section>`;
  const download = downloads.value.get(entry.id);
  const reason = refusal.value || failure.value || (download?.state === "failed" && download.reason) || course.value.reason;
  return html`<section class="first-model" aria-labelledby="first-model-title">
    <span class="flame"><${Flame} /></span>
    <h2 id="first-model-title">${isMoving(download) ? "Your model is on its way" : "No model is here yet"}</h2>
    <p class="which"><strong>${entry.title || entry.id}</strong><span class="about">${about(entry)}</span></p>
    ${isMoving(download) || entry.presence === "complete"
      ? html`<${Progress} entry=${entry} />`
      : html`<button type="button" class="button main" id="download" disabled=${!canDownload} onClick=${() => fetchModel(entry.id, true)}>
          ${entry.presence === "partial" ? "Go on and chat" : "Download and chat"}<span>${bytes(entry.size_bytes)}</span>
        </button>`}
    ${!canDownload && html`<p class="about">Downloads are switched off here by <code>download.enabled</code>.</p>`}
    ${reason && !isMoving(download) && html`<p class="ending bad" role="alert">${reason}</p>`}
    ${bySize.length > 1 && !isMoving(download) && html`<button type="button" class="link" aria-expanded=${isListOpen} onClick=${() => setListOpen(!isListOpen)}>${isListOpen ? "Fewer" : `See all ${bySize.length}`}</button>`}
    ${isListOpen && !isMoving(download) && html`<ul>${bySize.map((each) => html`<li key=${each.id}><button type="button" class="row" aria-pressed=${each === entry} onClick=${() => setPicked(each.id)}>
      <span class="name">${each.title || each.id}</span><span class="about">${about(each)}</span><span>${bytes(each.size_bytes)}</span>
    </button></li>`)}</ul>`}
  </section>`;
}

/** @param {{entry: Entry}} properties */
function Progress({ entry }) {
  const download = downloads.value.get(entry.id);
  if (!download || !isMoving(download)) return html`<p role="status">It is here, and being loaded<span class="caret"></span></p>`;
  const { done_bytes: done, total_bytes: total, bytes_per_second: rate, state } = download;
  const left = rate > 0 ? `, ${span((total - done) / rate)} left` : "";
  return html`<div class="progress-place">
    <progress max=${total} value=${done} aria-label=${`Download of ${entry.title || entry.id}`}></progress>
    <p class="about">${state === "waiting" ? "Waits for another download" : `${bytes(done)} of ${bytes(total)}, ${bytes(rate)}/s${left}`}</p>
    <button type="button" class="link" onClick=${() => stopFetching(entry.id)}>Pause</button>
  </div>`;
}

/** @param {Entry} entry */
function about({ parameters, format, context_tokens: context, licence }) {
  const size = parameters ? `${parameters >= 1e9 ? `${(parameters / 1e9).toFixed(1)} G` : `${Math.round(parameters / 1e6)} M`} parameters` : "";
  return [size, format, context ? `${count(context)} tokens` : "", licence].filter(Boolean).join(" · ");
}
