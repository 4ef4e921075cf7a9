// What serves now: its state, context, lanes, and what it took to load; loaded anew or sent away from here.

import { html } from "../parts/html.js";
import { bytes, count, duration } from "../parts/format.js";
import { values } from "../state/config.js";
import { answering, course, loaded, reload, status, unload } from "../state/server.js";

const WORDS = { "": "connecting", away: "no server", locked: "needs a key", unloaded: "asleep" };

export function Now() {
  const model = answering.value;
  const isBusy = status.value === "loading" || status.value === "switching";
  const idle = values.value.get("model.idle_unload");
  const kind = status.value === "serving" ? "good" : status.value === "failed" ? "bad" : "warn";
  return html`<section class="card now" aria-label="Now serving">
    <header><h2>${loaded.value ? "Now serving" : "Served next"}</h2><${Progress} /></header>
    <div class="title">
      <p class="name">${model?.id ?? "No model on this disk"}</p>
      <span class=${`tag ${kind}`} role="status">${WORDS[/** @type {keyof typeof WORDS} */ (status.value)] ?? status.value}</span>
      <span class="orders">
        <button type="button" class="button" id="reload" disabled=${!model || isBusy} onClick=${() => reload()}>${loaded.value ? "Reload" : "Load"}</button>
        <button type="button" class="button" id="unload" disabled=${!loaded.value || isBusy} onClick=${unload}>Unload</button>
      </span>
    </div>
    <dl>
      <dt>Context</dt><dd>${count(model?.max_model_len ?? NaN)}</dd>
      <dt>Lanes</dt><dd>${count(Number(values.value.get("model.decode_lanes") ?? NaN))}</dd>
      <dt>Loaded in</dt><dd>${duration(model?.load_seconds ?? NaN)}</dd>
      <dt>Sleeps after</dt><dd>${idle === 0 ? "never" : typeof idle === "number" ? `${count(idle)} s idle` : "–"}</dd>
      <dt>Weights</dt><dd>${model?.format ?? "–"}</dd>
      <dt>Parameters</dt><dd>${model?.num_parameters ? parameters(model.num_parameters) : "–"}</dd>
    </dl>
  </section>`;
}

function Progress() {
  const { loading, switching } = course.value;
  if (!loading && !switching) return html`<span class="quiet"></span>`;
  const words = switching ? [`${switching.from ? `${switching.from} → ` : ""}${switching.to}`] : [];
  if (loading) {
    words.push(loading.total_bytes > 0 && loading.phase === "reading" ? `${bytes(loading.done_bytes)} of ${bytes(loading.total_bytes)}` : loading.phase, `${Math.round(loading.seconds)} s`);
  }
  return html`<span class="quiet going">${words.join(" · ")}</span>`;
}

/** @param {number} number */
function parameters(number) {
  return number >= 1e9 ? `${(number / 1e9).toFixed(1)} G` : `${Math.round(number / 1e6)} M`;
}
