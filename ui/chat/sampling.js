// How tokens are drawn. What is not set is not sent, and shows the model's own value.

import { html } from "../parts/html.js";
import { OFFERED } from "../state/offered.js";
import { fields, loaded } from "../state/server.js";
import { numSet, resetSampling, setSampling, settings } from "../state/settings.js";

export function Sampling() {
  return html`<section>
    <h2>Sampling ${numSet.value > 0 && html`<button type="button" class="link" onClick=${resetSampling}>Reset ${numSet.value}</button>`}</h2>
    ${OFFERED.map((each) => html`<${Parameter} key=${each.name} ...${each} />`)}
  </section>`;
}

/** @param {{name: string, label: string, step: number, slide: number[] | null}} properties */
function Parameter({ name, label, step, slide }) {
  const range = fields.value.get(name);
  const set = settings.value.sampling?.[name];
  const own = loaded.value?.defaults?.[name];
  const isSet = set !== undefined;
  const value = isSet ? set : own;
  const take = (/** @type {any} */ event) => {
    const number = event.target.valueAsNumber;
    if (Number.isNaN(number)) return setSampling(name, undefined);
    const low = range?.minimum ?? -Infinity;
    const high = range?.maximum ?? Infinity;
    setSampling(name, Math.min(high, Math.max(low, number)));
  };
  const share = slide && value !== undefined ? (100 * (value - slide[0])) / (slide[1] - slide[0]) : 0;
  return html`<div class="parameter" title=${range?.description}>
    <label for=${`set-${name}`}>${label} ${!isSet && html`<span class="about">${name === "seed" ? "new each turn" : "model’s"}</span>`}</label>
    <input id=${`set-${name}`} class=${`field ${isSet ? "" : "unset"}`} type="number" step=${name === "seed" ? 1 : "any"} min=${range?.minimum} max=${range?.maximum}
      placeholder=${own ?? "auto"} value=${isSet ? set : ""} onChange=${take} />
    ${slide &&
    html`<input class=${`range ${isSet ? "" : "unset"}`} type="range" aria-label=${label} min=${slide[0]} max=${slide[1]} step=${step} value=${value ?? slide[0]}
      style=${{ "--share": `${Math.min(100, Math.max(0, share))}%` }} onInput=${take} />`}
  </div>`;
}
