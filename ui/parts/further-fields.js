// Fields of a request that are seldom set.

import { useState } from "../vendor/hooks.js";
import { biasOf, draftOfBias, problem } from "../state/held.js";
import { FURTHER } from "../state/offered.js";
import { fields } from "../state/server.js";
import { CodeField } from "./code-field.js";
import { html } from "./html.js";

/**
 * @param {{prefix: string, values: Record<string, any>, none: string, onSet: (name: string, value: unknown) => void, before?: Record<string, any> | null}} properties
 *   prefix: of the ids; none: what counts where one is not set; before: what the request says then, where one can go back to that
 */
export function FurtherFields({ prefix, values, none, onSet, before = null }) {
  return FURTHER.map(({ name, label, kind, options }) => {
    const about = fields.value.get(name)?.description;
    const value = values[name];
    const id = `${prefix}-${name}`;
    const set = (/** @type {unknown} */ picked) => onSet(name, picked);
    if (kind === "choice") return html`<div class="parameter" key=${name} title=${about}><label for=${id}>${label}</label><${Pick} id=${id} none=${none} options=${options} value=${value} onPick=${set} /></div>`;
    return html`<div key=${name} title=${about}><${Title} id=${id} words=${label} onUndo=${before && value !== undefined && (() => set(undefined))} />
      ${kind === "lines" ? html`<${Lines} id=${id} value=${value} before=${before?.[name]} onSet=${set} />` : html`<${Bias} id=${id} value=${value} onSet=${set} />`}</div>`;
  });
}

/** The name of a field, and where it departs from the others the way back to them. @param {{id: string, words: string, kind?: string, onUndo: false | null | (() => void)}} properties */
export function Title({ id, words, kind = "", onUndo }) {
  const undo = () => {
    if (onUndo) onUndo();
    document.getElementById(id)?.focus();
  };
  return html`<div class="field-title"><label class=${kind} for=${id}>${words}</label>
    ${onUndo && html`<button type="button" class="link" aria-label=${`${words}: as all`} onClick=${undo}>As all</button>`}</div>`;
}

/** One of a few values of any kind, or none. @param {{id: string, none: string, options: [unknown, string][], value: unknown, onPick: (value: unknown) => void}} properties */
export function Pick({ id, none, options, value, onPick }) {
  return html`<select class=${`field ${value === undefined ? "unset" : ""}`} id=${id} value=${JSON.stringify(value) ?? ""} onChange=${(/** @type {any} */ event) => onPick(event.target.value ? JSON.parse(event.target.value) : undefined)}>
    <option value="">${none}</option>${options.map(([option, words]) => html`<option key=${words} value=${JSON.stringify(option)}>${words}</option>`)}
  </select>`;
}

/** @param {{id: string, value: string[] | undefined, before?: string[], onSet: (lines: string[] | undefined) => void}} properties */
export function Lines({ id, value, before, onSet }) {
  // An end of line that is still typed would else vanish under the cursor.
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const take = (/** @type {any} */ event) => {
    const lines = event.target.value.split("\n").filter(Boolean);
    setTyped(event.target.value);
    onSet(lines.length ? lines : undefined);
  };
  const placeholder = value ? "Nothing" : before?.join("\n") || "One a line";
  return html`<textarea class="field code" id=${id} rows="2" spellcheck="false" placeholder=${placeholder} value=${typed ?? value?.join("\n") ?? ""} onInput=${take} onBlur=${() => setTyped(null)}></textarea>`;
}

/** @param {{id: string, value: Record<string, number> | string | undefined, onSet: (bias: Record<string, number> | string | undefined) => void}} properties */
function Bias({ id, value, onSet }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  // It stays as it was typed for as long as that is what is set: the set one may be taken back.
  const isSame = typed !== null && JSON.stringify(draftOfBias(typed)) === JSON.stringify(value);
  const text = isSame ? typed : typeof value === "object" ? JSON.stringify(value) : (value ?? "");
  const take = (/** @type {string} */ written) => {
    setTyped(written);
    onSet(draftOfBias(written));
  };
  return html`<${CodeField} id=${id} label="Added to logits, by token id" rows=${2} placeholder='{"42": -1.5}' value=${text} isOptional=${true} problemOf=${(/** @type {string} */ written) => problem(() => biasOf(written))} onInput=${take} />`;
}
