// The models on disk, and those of the catalog that can be fetched.

import { html } from "../parts/html.js";
import { bytes } from "../parts/format.js";
import { short } from "../shell/model-chip.js";
import { change, loaded, models, status } from "../state/server.js";

export function Models() {
  const isBusy = status.value === "loading" || status.value === "switching";
  return html`<section class="card models" aria-label="Models">
    <header><h2>Models</h2></header>
    <div class="scroll"><table>
      <thead><tr><th scope="col">Name</th><th scope="col">Size</th><th scope="col">Context</th><th scope="col">State</th><th scope="col"><span class="reader">Action</span></th></tr></thead>
      <tbody>${models.value.map((model) => html`<tr key=${model.id}>
        <td>${model.id}</td><td>${model.format} · ${bytes(model.size_bytes ?? NaN)}</td><td>${short(model.max_model_len)}</td>
        <td>${model.loaded ? html`<span class="tag good">serving</span>` : html`<span class="tag">on disk</span>`}</td>
        <td class="act">${!model.loaded && html`<button type="button" class="button" disabled=${isBusy} onClick=${() => change(model.id)}>${loaded.value ? "Switch" : "Load"}</button>`}</td>
      </tr>`)}</tbody>
    </table></div>
  </section>`;
}
