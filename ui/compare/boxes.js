// Several of a few, each with a box to tick.

import { html } from "../parts/html.js";

/** @param {{label: string, all: string[], chosen: string[], onSet: (chosen: string[]) => void, isShort?: boolean}} properties isShort: their words have room beside each other */
export function Boxes({ label, all, chosen, onSet, isShort = false }) {
  const flip = (/** @type {string} */ one) => onSet(all.filter((each) => (each === one ? !chosen.includes(each) : chosen.includes(each))));
  return html`<fieldset class=${`boxes ${isShort ? "short" : ""}`}><legend class="title">${label}</legend>
    ${all.map((one) => html`<label key=${one}><input type="checkbox" checked=${chosen.includes(one)} onChange=${() => flip(one)} />${one}</label>`)}
  </fieldset>`;
}
