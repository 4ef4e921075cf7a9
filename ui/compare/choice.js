// One of a list, under its name.

import { html } from "../parts/html.js";

/** @param {{id: string, label: string, options: [string, string][], value: string, onPick: (value: string) => void}} properties options: value and words */
export function Choice({ id, label, options, value, onPick }) {
  return html`<div><label class="title" for=${id}>${label}</label>
    <select class="field" id=${id} value=${value} onChange=${(/** @type {any} */ event) => onPick(event.target.value)}>
      ${options.map(([option, words]) => html`<option key=${option} value=${option}>${words}</option>`)}
    </select></div>`;
}
