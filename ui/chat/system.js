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

/** Nothing where the model does not think and nothing is set. */
export function Thinking() {
  const { effort = "", sampling } = settings.value;
  const { capabilities, defaults } = respondent.value ?? {};
  const efforts = effortsOf(capabilities, effort);
  if (!efforts.length) return null;
  return html`<section><h2>Thinking</h2>
    <${Segments} name="effort" label="Thinking" options=${efforts} value=${effort}
      onPick=${(/** @type {string} */ picked) => set({ effort: picked || undefined })} />
    ${capabilities?.thinking === false && html`<p class="problem">This model does not think.</p>`}
    ${capabilities?.thinking && effort !== "none" &&
    html`<${Parameter} id=${`set-${BUDGET.name}`} ...${BUDGET} label="Tokens at most" value=${sampling?.[BUDGET.name]} own=${defaults?.[BUDGET.name]} ownWord="model’s"
      range=${fields.value.get(BUDGET.name)} onSet=${(/** @type {number | undefined} */ value) => setSampling(BUDGET.name, value)} />`}
  </section>`;
}
