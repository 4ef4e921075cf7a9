// One choice of a few, side by side.

import { html } from "./html.js";

/** @param {{name: string, label: string, options: [string, string][], value: string, onPick: (value: string) => void}} properties options: value and words */
export function Segments({ name, label, options, value, onPick }) {
  return html`<div class="segments" role="radiogroup" aria-label=${label}>
    ${options.map(([each, text]) => html`<label key=${each}><input type="radio" name=${name} value=${each} checked=${each === value} onChange=${() => onPick(each)} />${text}</label>`)}
  </div>`;
}
