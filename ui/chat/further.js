// What else a request can say: seldom set, and folded until one is.

import { useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { CodeField } from "../parts/code-field.js";
import { biasOf, problem } from "../state/held.js";
import { FURTHER } from "../state/offered.js";
import { fields } from "../state/server.js";
import { setSampling, settings } from "../state/settings.js";

export function Further() {
  const sampling = settings.value.sampling ?? {};
  const numSet = FURTHER.filter(({ name }) => sampling[name] !== undefined).length;
  return html`<section><details class="further" id="further"><summary>More fields ${numSet > 0 && html`<span class="about">${numSet} set</span>`}</summary>
    ${FURTHER.map(({ name, label, kind, options }) => {
      const about = fields.value.get(name)?.description;
      const value = sampling[name];
      const head = html`<label for=${`set-${name}`}>${label}</label>`;
      if (kind === "lines") return html`<div key=${name} title=${about}>${head}<${Lines} id=${`set-${name}`} value=${value} onSet=${(/** @type {unknown} */ lines) => setSampling(name, lines)} /></div>`;
      if (kind === "bias") return html`<div key=${name} title=${about}>${head}<${Bias} value=${value} onSet=${(/** @type {unknown} */ bias) => setSampling(name, bias)} /></div>`;
      return html`<div class="parameter" key=${name} title=${about}>${head}
        <select class=${`field ${value === undefined ? "unset" : ""}`} id=${`set-${name}`} value=${JSON.stringify(value) ?? ""} onChange=${(/** @type {any} */ event) => setSampling(name, event.target.value ? JSON.parse(event.target.value) : undefined)}>
          <option value="">Default</option>${options.map(([option, words]) => html`<option key=${words} value=${JSON.stringify(option)}>${words}</option>`)}
        </select></div>`;
    })}
  </details></section>`;
}

/** @param {{id: string, value: string[] | undefined, onSet: (lines: string[] | undefined) => void}} properties */
function Lines({ id, value, onSet }) {
  // An end of line that is still typed would else vanish under the cursor.
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const take = (/** @type {any} */ event) => {
    const lines = event.target.value.split("\n").filter(Boolean);
    setTyped(event.target.value);
    onSet(lines.length ? lines : undefined);
  };
  return html`<textarea class="field code" id=${id} rows="2" spellcheck="false" placeholder="One a line" value=${typed ?? value?.join("\n") ?? ""} onInput=${take} onBlur=${() => setTyped(null)}></textarea>`;
}

/** @param {{value: Record<string, number> | undefined, onSet: (bias: Record<string, number> | undefined) => void}} properties */
function Bias({ value, onSet }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const text = typed ?? (value ? JSON.stringify(value) : "");
  const take = (/** @type {string} */ written) => {
    setTyped(written);
    if (!problem(() => biasOf(written))) onSet(biasOf(written));
  };
  return html`<${CodeField} id="set-logit_bias" label="Added to logits, by token id" rows=${2} placeholder='{"42": -1.5}' value=${text} isOptional=${true} problemOf=${(/** @type {string} */ written) => problem(() => biasOf(written))} onInput=${take} />`;
}
