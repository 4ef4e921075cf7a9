// A row of the models: one that is here, or one that can be.

import { useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { bytes, span } from "../parts/format.js";
import { short } from "../shell/model-chip.js";
import { downloads, fetchModel, isMoving, stopFetching } from "../state/downloads.js";
import { ring } from "../state/samples.js";
import { change, course, loaded, status, unload } from "../state/server.js";

/** @typedef {import("../state/downloads.js").Entry} Entry */
/** @typedef {import("../state/downloads.js").Download} Download */

/** @param {{model: import("../api/models.js").Model, isBusy: boolean}} properties */
export function ModelRow({ model, isBusy }) {
  const isComing = isBusy && (course.value.switching?.to ?? (loaded.value ? "" : model.id)) === model.id;
  const [kind, word] = isComing ? ["warn", status.value] : !model.loaded ? ["", "on disk"] : status.value === "failed" ? ["bad", "failed"] : ["good", "serving"];
  return html`<tr>
    <th scope="row">${model.id}<span class="quiet">${about(model.format, model.max_model_len)}</span></th>
    <td class="size">${bytes(model.size_bytes ?? NaN)}</td>
    <td><span class=${`tag ${kind}`}>${word}</span></td>
    <td class="act">${model.loaded
      ? html`<button type="button" class="button" disabled=${isBusy} aria-label=${`Unload ${model.id}`} onClick=${unload}>Unload</button>`
      : html`<button type="button" class="button" disabled=${isBusy} aria-label=${`${loaded.value ? "Switch to" : "Load"} ${model.id}`} onClick=${() => change(model.id)}>${loaded.value ? "Switch" : "Load"}</button>`}</td>
  </tr>`;
}

/** @param {{entry: Entry, canDownload: boolean | undefined}} properties */
export function CatalogRow({ entry, canDownload }) {
  const [isOpen, setOpen] = useState(false);
  const download = downloads.value.get(entry.id);
  const why = reasonOf(entry, download);
  const order = download?.state === "failed" ? "Try again" : entry.presence === "partial" ? "Go on" : "Download";
  return html`<tr>
      <th scope="row">${entry.id}<span class="quiet">${about(entry.format, entry.context_tokens, entry.licence)}</span></th>
      <td class="size">${bytes(entry.size_bytes)}</td>
      ${isMoving(download)
        ? html`<td colspan="2"><${Progress} entry=${entry} download=${/** @type {Download} */ (download)} /></td>`
        : html`<td><span class=${`tag ${why ? (why.isBad ? "bad" : "warn") : ""}`}>${why?.word ?? (entry.presence === "partial" ? "begun" : "not here")}</span>
              ${why && html` <button type="button" class="link" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>Why?</button>`}</td>
            <td class="act"><button type="button" class="button" disabled=${!canDownload || entry.presence === "foreign" || entry.presence === "unreadable"} aria-label=${`${order} ${entry.id}`} onClick=${() => fetchModel(entry.id)}>${order}</button></td>`}
    </tr>
    ${isOpen && why && !isMoving(download) && html`<tr class="why"><td colspan="4">${why.text}</td></tr>`}`;
}

/** @param {{entry: Entry, download: Download}} properties */
function Progress({ entry, download }) {
  const { done_bytes: done, total_bytes: total, bytes_per_second: rate, state, reason } = download;
  const share = total > 0 ? Math.floor((100 * done) / total) : 0;
  const left = rate > 0 ? ` · ${span((total - done) / rate)} left` : "";
  return html`<div class="download" title=${reason ?? `${bytes(done)} of ${bytes(total)}, ${bytes(rate)} a second`}>
    <p><span>${reason ? "is tried again" : state === "waiting" ? "waits for another" : `${share} %${left}`}</span>
      <button type="button" class="link" aria-label=${`Pause the download of ${entry.id}`} onClick=${() => stopFetching(entry.id)}>Pause</button></p>
    <progress max=${total || 1} value=${done} aria-label=${`Download of ${entry.id}`}></progress>
  </div>`;
}

/** @param {string | undefined} format @param {number | undefined} tokens of its context @param {string} [licence] */
function about(format, tokens, licence) {
  return [format, tokens && `${short(tokens)} context`, licence].filter(Boolean).join(" · ");
}

/** Why it is not here, or will not load. @param {Entry} entry @param {Download | undefined} download @returns {{word: string, text: string, isBad?: boolean} | null} */
function reasonOf(entry, download) {
  if (download?.state === "failed") return { word: "failed", text: download.reason ?? "The server does not say.", isBad: true };
  if (entry.presence === "foreign") return { word: "name taken", text: "Another file has the name of one of its files. The server leaves it alone: move it away, and the download can begin." };
  if (entry.presence === "unreadable") return { word: "not readable", text: "The server may not look into this model's folder. Give its user the right to, and it is found.", isBad: true };
  const room = ring.at('ignis_device_memory_bytes{state="total"}', ring.last);
  if (entry.needs_bytes && entry.needs_bytes > room) {
    return { word: "does not fit", text: `A load takes at least ${bytes(entry.needs_bytes)}, and this device has ${bytes(room)} in all.` };
  }
  return null;
}
