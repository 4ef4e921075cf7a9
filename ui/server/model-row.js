// A row of the models: one that is here, or one that can be.

import { useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { bytes, span } from "../parts/format.js";
import { short } from "../shell/model-chip.js";
import { catalog, downloads, fetchModel, isMoving, stopFetching } from "../state/downloads.js";
import { ring } from "../state/samples.js";
import { change, course, loaded, status, unload } from "../state/server.js";

/** @typedef {import("../state/downloads.js").Entry} Entry */
/** @typedef {import("../state/downloads.js").Download} Download */

/** Of the one that is loaded, where it does not simply serve: how it looks, and its word. @type {Map<string, [string, string]>} */
const STATES = new Map([["failed", ["bad", "failed"]], ["away", ["warn", "no server"]]]);

/** @param {{model: import("../api/models.js").Model, isBusy: boolean}} properties */
export function ModelRow({ model, isBusy }) {
  const isComing = isBusy && (course.value.switching?.to ?? (loaded.value ? "" : model.id)) === model.id;
  const [kind, word] = isComing ? ["warn", status.value] : !model.loaded ? ["", "on disk"] : (STATES.get(status.value) ?? ["good", "serving"]);
  const known = catalog.value?.data.find(({ id }) => id === model.id);
  const why = isComing || model.loaded ? null : tooLarge(known?.needs_bytes ?? model.size_bytes);
  return html`<${Row} name=${model.id} about=${about(model.format, model.max_model_len)} size=${model.size_bytes ?? NaN} why=${why} kind=${kind} word=${word}
    act=${model.loaded
      ? html`<button type="button" class="button" disabled=${isBusy} aria-label=${`Unload ${model.id}`} onClick=${unload}>Unload</button>`
      : html`<button type="button" class="button" disabled=${isBusy} aria-label=${`${loaded.value ? "Switch to" : "Load"} ${model.id}`} onClick=${() => change(model.id)}>${loaded.value ? "Switch" : "Load"}</button>`} />`;
}

/** @param {{entry: Entry, canDownload: boolean | undefined}} properties */
export function CatalogRow({ entry, canDownload }) {
  const download = downloads.value.get(entry.id);
  const order = download?.state === "failed" ? "Try again" : entry.presence === "partial" ? "Go on" : "Download";
  return html`<${Row} name=${entry.id} about=${about(entry.format, entry.context_tokens, entry.licence)} size=${entry.size_bytes}
    why=${reasonOf(entry, download)} kind="" word=${entry.presence === "partial" ? "begun" : "not here"}
    going=${isMoving(download) && html`<${Progress} entry=${entry} download=${/** @type {Download} */ (download)} />`}
    act=${html`<button type="button" class="button" disabled=${!canDownload || entry.presence === "foreign" || entry.presence === "unreadable"} aria-label=${`${order} ${entry.id}`} onClick=${() => fetchModel(entry.id)}>${order}</button>`} />`;
}

/** @typedef {{word: string, text: string, isBad?: boolean}} Why */

/**
 * @param {{name: string, about: string, size: number, why: Why | null, kind: string, word: string, act: unknown, going?: unknown}} properties
 *   why: said in place of the word; going: in place of that and of what to do
 */
function Row({ name, about, size, why, kind, word, act, going }) {
  const [isOpen, setOpen] = useState(false);
  return html`<tr>
      <th scope="row">${name}<span class="quiet">${about}</span></th>
      <td class="size">${bytes(size)}</td>
      ${going
        ? html`<td colspan="2">${going}</td>`
        : html`<td><span class=${`tag ${why ? (why.isBad ? "bad" : "warn") : kind}`}>${why?.word ?? word}</span>
              ${why && html` <button type="button" class="link" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>Why?</button>`}</td>
            <td class="act">${act}</td>`}
    </tr>
    ${isOpen && why && !going && html`<tr class="why"><td colspan="4">${why.text}</td></tr>`}`;
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

/** Why it is not here, or will not load. @param {Entry} entry @param {Download | undefined} download @returns {Why | null} */
function reasonOf(entry, download) {
  if (download?.state === "failed") return { word: "failed", text: download.reason ?? "The server does not say.", isBad: true };
  if (entry.presence === "foreign") return { word: "name taken", text: "Another file has the name of one of its files. The server leaves it alone: move it away, and the download can begin." };
  if (entry.presence === "unreadable") return { word: "not readable", text: "The server may not look into this model's folder. Give its user the right to, and it is found.", isBad: true };
  return tooLarge(entry.needs_bytes ?? entry.size_bytes);
}

/** @param {number | undefined} needs bytes that a load takes at least: the files' where nobody says more @returns {Why | null} */
function tooLarge(needs) {
  const room = ring.at('ignis_device_memory_bytes{state="total"}', ring.last);
  return needs && needs > room ? { word: "does not fit", text: `A load takes at least ${bytes(needs)}, and this device has ${bytes(room)} in all.` } : null;
}
