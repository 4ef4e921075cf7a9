// The models on this disk, then those of the catalog that can be fetched; a download goes on in its row.

import { useEffect } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { bytes } from "../parts/format.js";
import { Reason } from "../parts/reason.js";
import { catalog, downloads, isMoving, look, refusal } from "../state/downloads.js";
import { ring, taken } from "../state/samples.js";
import { course, failure, models, status, unreadable } from "../state/server.js";
import { CatalogRow, ModelRow } from "./model-row.js";

export function Models() {
  useEffect(() => look(), []);
  const isBusy = status.value === "loading" || status.value === "switching";
  const here = new Set(models.value.map(({ id }) => id));
  // One that is whole is among the models, under the name that its file was given.
  const others = (catalog.value?.data ?? []).filter(({ id, presence }) => !here.has(id) && (presence !== "complete" || isMoving(downloads.value.get(id))));
  taken.value;
  const free = ring.at("ignis_model_disk_free_bytes", ring.last);
  const words = refusal.value || failure.value || (status.value === "failed" && course.value.reason);
  return html`<section class="card models" aria-label="Models">
    <header><h2>Models</h2><span class="quiet">${free > 0 && `${bytes(free)} free on this disk`}</span></header>
    ${words && html`<div class="note" role="alert"><${Reason} text=${words} short="That did not go." /></div>`}
    ${unreadable.value.length > 0 && html`<p class="note" id="unreadable">Left out, for a reason that the log has: ${unreadable.value.join(", ")}.</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Models, table"><table>
      <thead><tr><th scope="col">Name</th><th scope="col" class="size">Size</th><th scope="col" class="state">State</th><th scope="col" class="act"><span class="reader">What to do</span></th></tr></thead>
      <tbody>
        ${models.value.map((model) => html`<${ModelRow} key=${model.id} model=${model} isBusy=${isBusy} />`)}
        ${others.map((entry) => html`<${CatalogRow} key=${entry.id} entry=${entry} canDownload=${catalog.value?.can_download} />`)}
      </tbody>
    </table>
    ${catalog.value && !models.value.length && !others.length && html`<p class="quiet none">No model is on this disk, and the catalog has none.</p>`}
    </div>
    ${catalog.value && !catalog.value.can_download && others.length > 0 && html`<p class="quiet hint"><a href="#/server/config/download.enabled">download.enabled</a> lets no page start a download.</p>`}
  </section>`;
}
