// A field for text that has to be right: what is wrong is said when it is left, and what is typed is kept.

import { useState } from "../vendor/hooks.js";
import { html } from "./html.js";

/**
 * @param {{id: string, label: string, value: string, placeholder: string, problemOf: (text: string) => string, onInput: (text: string) => void,
 *   rows?: number, isOptional?: boolean, isTitled?: boolean}} properties isOptional: nothing is as good as something; isTitled: its label is seen
 */
export function CodeField({ id, label, value, placeholder, problemOf, onInput, rows = 5, isOptional = false, isTitled = false }) {
  // One that nobody has been in is not wrong yet.
  const [isQuiet, setQuiet] = useState(!value);
  const said = isQuiet || (isOptional && !value) ? "" : problemOf(value);
  return html`<label class=${isTitled ? "title" : "reader"} for=${id}>${label}</label>
    <textarea class="field code" id=${id} rows=${rows} spellcheck="false" autocapitalize="off" placeholder=${placeholder} value=${value} aria-invalid=${said ? "true" : undefined}
      aria-describedby=${said ? `${id}-problem` : undefined} onFocus=${() => setQuiet(true)} onBlur=${() => setQuiet(false)}
      onInput=${(/** @type {any} */ event) => onInput(event.target.value)}></textarea>
    ${said && html`<p class="problem" id=${`${id}-problem`} role="alert">${said}</p>`}`;
}
