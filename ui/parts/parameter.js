// One number of a request: its name, a box and a slider. Empty is not set, and shows whose value counts then.

import { rangeWords } from "../state/range.js";
import { html } from "./html.js";
import { NumberBox } from "./number.js";

/**
 * @param {{id: string, label: string, value: number | undefined, own: number | undefined, ownWord: string, step: number, slide: number[] | null,
 *   range: import("../api/openapi.js").FieldRange | undefined, onSet: (value: number | undefined) => void}} properties
 *   own: the value that counts while none is set; ownWord: whose that is
 */
export function Parameter({ id, label, value, own, ownWord, step, slide, range, onSet }) {
  const isSet = value !== undefined;
  const shown = value ?? own;
  const share = slide && shown !== undefined ? (100 * (Number(shown) - slide[0])) / (slide[1] - slide[0]) : 0;
  const about = range && [range.description, rangeWords(range)].filter(Boolean).join(" ");
  return html`<div class="parameter" title=${about}>
    <label for=${id}>${label} ${!isSet && html`<span class="about">${ownWord}</span>`}</label>
    <${NumberBox} id=${id} value=${value} placeholder=${own ?? "auto"} range=${range} onSet=${onSet} />
    ${slide &&
    html`<input class=${`range ${isSet ? "" : "unset"}`} type="range" aria-label=${label} min=${slide[0]} max=${slide[1]} step=${step} value=${shown ?? slide[0]}
      style=${{ "--share": `${Math.min(100, Math.max(0, share || 0))}%` }} onInput=${(/** @type {any} */ event) => onSet(event.target.valueAsNumber)} />`}
  </div>`;
}
