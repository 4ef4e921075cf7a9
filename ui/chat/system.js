// What the model is told beside the chat, and how much it thinks.

import { useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { Parameter } from "../parts/parameter.js";
import { Segments } from "../parts/segments.js";
import { BUDGET, effortsOf } from "../state/offered.js";
import { respondent } from "../state/respondent.js";
import { fields } from "../state/server.js";
import { set, setSampling, settings } from "../state/settings.js";

export function System() {
  const [isTall, setTall] = useState(false);
  return html`<section>
    <h2><label for="system">System prompt</label><button type="button" class="link" aria-expanded=${isTall} aria-controls="system" onClick=${() => setTall(!isTall)}>${isTall ? "Fold" : "Expand"}</button></h2>
    <textarea class="field" id="system" rows=${isTall ? 18 : 4} placeholder="None: the model’s own" value=${settings.value.system ?? ""}
      onInput=${(/** @type {any} */ event) => set({ system: event.target.value })}></textarea>
  </section>`;
}

/** Nothing where the model does not think. */
export function Thinking() {
  const efforts = effortsOf(respondent.value?.capabilities);
  if (!efforts.length) return null;
  return html`<section><h2>Thinking</h2>
    <${Segments} name="effort" label="Thinking" options=${efforts} value=${settings.value.effort ?? ""}
      onPick=${(/** @type {string} */ effort) => set({ effort: effort || undefined })} />
    ${settings.value.effort !== "none" &&
    html`<${Parameter} id=${`set-${BUDGET.name}`} ...${BUDGET} label="Tokens at most" value=${settings.value.sampling?.[BUDGET.name]} own=${respondent.value?.defaults?.[BUDGET.name]} ownWord="model’s"
      range=${fields.value.get(BUDGET.name)} onSet=${(/** @type {number | undefined} */ value) => setSampling(BUDGET.name, value)} />`}
  </section>`;
}
