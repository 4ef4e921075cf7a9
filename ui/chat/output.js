// The form that answers are held to.

import { FORMATS, FormText } from "../parts/form-text.js";
import { html } from "../parts/html.js";
import { Segments } from "../parts/segments.js";
import { set, settings } from "../state/settings.js";

export function Output() {
  const { format = "text", schema = "" } = settings.value;
  // Each form has a text of its own kind: one that goes away is not one of another.
  const pick = (/** @type {string} */ picked) => set({ format: picked === "text" ? undefined : picked, schema: undefined });
  return html`<section><h2>Output</h2>
    <div class="wrapped"><${Segments} name="format" label="Output" options=${FORMATS} value=${format} onPick=${pick} /></div>
    <${FormText} id="schema" format=${format} value=${schema} onInput=${(/** @type {string} */ text) => set({ schema: text })} />
  </section>`;
}
