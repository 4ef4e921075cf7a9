// The functions that the model may call; what it calls is shown, and nothing is run.

import { html } from "../parts/html.js";
import { CodeField } from "../parts/code-field.js";
import { Segments } from "../parts/segments.js";
import { problemOf } from "../state/held.js";
import { respondent } from "../state/respondent.js";
import { set, settings } from "../state/settings.js";

const EXAMPLE = '[{\n  "name": "weather",\n  "description": "The weather of a city",\n  "parameters": {\n    "type": "object",\n    "properties": {"city": {"type": "string"}},\n    "required": ["city"]\n  }\n}]';
/** @type {[string, string][]} */
const CHOICES = [["", "Auto"], ["required", "Required"], ["none", "None"]];

/** Nothing where the model cannot be told of any. */
export function Tools() {
  const { tools = "", toolChoice = "", ownTools = false } = settings.value;
  const { capabilities } = respondent.value ?? {};
  if (!capabilities?.tools && !tools) return null;
  const isOpen = settings.value.tools !== undefined;
  return html`<section><h2><label for="set-tools-on">Tools</label>
      <input type="checkbox" id="set-tools-on" role="switch" checked=${isOpen} onChange=${() => set({ tools: isOpen ? undefined : "", toolChoice: undefined, ownTools: undefined })} /></h2>
    ${capabilities?.tools === false && html`<p class="problem">This model takes no tools.</p>`}
    ${isOpen &&
    html`<${CodeField} id="set-tools" label="Tools, as a list in JSON" rows="8" placeholder=${EXAMPLE} value=${tools} isOptional=${true} problemOf=${(/** @type {string} */ text) => problemOf("tools", text)}
        onInput=${(/** @type {string} */ text) => set({ tools: text })} />
      <${Segments} name="tool-choice" label="Which" options=${CHOICES} value=${toolChoice} onPick=${(/** @type {string} */ picked) => set({ toolChoice: picked || undefined })} />
      <div class="parameter"><label for="set-own-tools">Agents, ask, date and time <span class="about">the page’s own</span></label>
        <input type="checkbox" id="set-own-tools" role="switch" checked=${ownTools} onChange=${() => set({ ownTools: !ownTools || undefined })} /></div>
      <p class="about">Nothing of your list is run: a call is shown in the answer, and you give it its result there.</p>`}
  </section>`;
}
