// What the model is told beside the chat, how much it thinks, and the form of what it answers.

import { html } from "../parts/html.js";
import { loaded } from "../state/server.js";
import { set, settings } from "../state/settings.js";

const FORMATS = [["text", "Text"], ["json", "JSON"], ["schema", "Schema"], ["regex", "Regex"]];

export function System() {
  return html`<section>
    <h2><label for="system">System prompt</label></h2>
    <textarea class="field" id="system" rows="4" placeholder="None: the model’s own" value=${settings.value.system ?? ""}
      onInput=${(/** @type {any} */ event) => set({ system: event.target.value })}></textarea>
  </section>`;
}

/** Nothing where the model does not think. */
export function Thinking() {
  const { capabilities } = loaded.value ?? {};
  if (!capabilities?.thinking) return null;
  const efforts = ["", "none", ...capabilities.thinking_efforts.filter((effort) => effort !== "none")];
  const label = (/** @type {string} */ effort) => (effort === "" ? "Model’s" : effort === "none" ? "Off" : effort[0].toUpperCase() + effort.slice(1));
  return html`<section><h2>Thinking</h2>
    <${Segments} name="effort" label="Thinking" options=${efforts.map((effort) => [effort, label(effort)])} value=${settings.value.effort ?? ""}
      onPick=${(/** @type {string} */ effort) => set({ effort: effort || undefined })} />
  </section>`;
}

export function Output() {
  const format = settings.value.format ?? "text";
  const hasText = format === "schema" || format === "regex";
  return html`<section><h2>Output</h2>
    <${Segments} name="format" label="Output" options=${FORMATS} value=${format} onPick=${(/** @type {string} */ picked) => set({ format: picked, schema: "" })} />
    ${hasText &&
    html`<label class="reader" for="schema">${format === "schema" ? "JSON schema" : "Expression"}</label>
      <textarea class="field code" id="schema" rows="5" spellcheck="false" placeholder=${format === "schema" ? '{"type": "object"}' : "[a-z]+"} value=${settings.value.schema ?? ""}
        onInput=${(/** @type {any} */ event) => set({ schema: event.target.value })}></textarea>`}
  </section>`;
}

/** @param {{name: string, label: string, options: string[][], value: string, onPick: (value: string) => void}} properties */
function Segments({ name, label, options, value, onPick }) {
  return html`<div class="segments" role="radiogroup" aria-label=${label}>
    ${options.map(([each, text]) => html`<label key=${each}><input type="radio" name=${name} checked=${each === value} onChange=${() => onPick(each)} />${text}</label>`)}
  </div>`;
}
