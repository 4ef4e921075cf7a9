// Vary: lanes that differ in one thing, made from what lane A asks.

import { useState } from "../vendor/hooks.js";
import { Dialog } from "../parts/dialog.js";
import { html } from "../parts/html.js";
import { Segments } from "../parts/segments.js";
import { go } from "../router.js";
import { valuesOf } from "../state/asked.js";
import { open, vary } from "../state/compare.js";
import { OFFERED } from "../state/offered.js";
import { MAX_LANES } from "../state/series.js";
import { answering, fields, models } from "../state/server.js";
import { each, seeds, spread } from "../state/variants.js";
import { Choice } from "./values.js";

const NUMBERS = OFFERED.filter(({ name }) => name !== "seed");

/** @param {{onClose: () => void}} properties */
export function Vary({ onClose }) {
  const [kind, setKind] = useState("seeds");
  const [first] = open.value.lanes.value;
  const seed = valuesOf(open.value, first).seed;
  const [choice, setChoice] = useState({ seed, count: 4, name: "temperature", from: 0, to: 1.2, models: models.value.map(({ id }) => id), efforts: effortsOf() });
  const change = (/** @type {Partial<typeof choice>} */ changes) => setChoice({ ...choice, ...changes });
  const variants = variantsOf(kind, choice).slice(0, MAX_LANES);
  const problem = problemOf(kind, choice);
  const take = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (problem) return;
    vary(variants);
    go("compare");
    onClose();
  };
  const kinds = [["seeds", "Seeds"], ["number", "A number"], ...(effortsOf().length ? [["thinking", "Thinking"]] : []), ...(models.value.length > 1 ? [["models", "Models"]] : [])];
  return html`<${Dialog} label="Vary the lanes" kind="values" onClose=${onClose}>
    <form onSubmit=${take}>
      <${Segments} name="vary-kind" label="What to vary" options=${kinds} value=${kind} onPick=${setKind} />
      <div class="vary-fields">
        ${kind === "seeds" && html`<${Box} id="vary-seed" label="From seed" value=${choice.seed} onSet=${(/** @type {number} */ value) => change({ seed: value })} />`}
        ${kind === "number" &&
        html`<${Choice} id="vary-name" label="Which" options=${NUMBERS.map(({ name, label }) => [name, label])} value=${choice.name} onPick=${(/** @type {string} */ name) => change(startOf(name))} />
          <${Box} id="vary-start" label="From" value=${choice.from} onSet=${(/** @type {number} */ value) => change({ from: value })} />
          <${Box} id="vary-stop" label="To" value=${choice.to} onSet=${(/** @type {number} */ value) => change({ to: value })} />`}
        ${(kind === "seeds" || kind === "number") && html`<${Box} id="vary-count" label="Lanes" value=${choice.count} onSet=${(/** @type {number} */ value) => change({ count: value })} />`}
        ${kind === "thinking" && html`<${Boxes} label="Thinking" all=${effortsOf()} chosen=${choice.efforts} onSet=${(/** @type {string[]} */ efforts) => change({ efforts })} />`}
        ${kind === "models" && html`<${Boxes} label="Models" all=${models.value.map(({ id }) => id)} chosen=${choice.models} onSet=${(/** @type {string[]} */ chosen) => change({ models: chosen })} />`}
      </div>
      <p class=${problem ? "ending bad" : "about"} id="vary-says" role="status">${problem || says(kind, variants)}</p>
      <div class="actions">
        <button type="button" class="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="button main" id="vary-make" disabled=${Boolean(problem)}>Make ${variants.length} lanes</button>
      </div>
    </form>
  <//>`;
}

/** @param {{id: string, label: string, value: number, onSet: (value: number) => void}} properties */
function Box({ id, label, value, onSet }) {
  return html`<div><label class="title" for=${id}>${label}</label>
    <input class="field" type="number" step="any" id=${id} value=${Number.isNaN(value) ? "" : value} onInput=${(/** @type {any} */ event) => onSet(event.target.valueAsNumber)} /></div>`;
}

/** @param {{label: string, all: string[], chosen: string[], onSet: (chosen: string[]) => void}} properties */
function Boxes({ label, all, chosen, onSet }) {
  const flip = (/** @type {string} */ one) => onSet(all.filter((each) => (each === one ? !chosen.includes(each) : chosen.includes(each))));
  return html`<fieldset class="boxes"><legend class="title">${label}</legend>
    ${all.map((one) => html`<label key=${one}><input type="checkbox" checked=${chosen.includes(one)} onChange=${() => flip(one)} />${one}</label>`)}
  </fieldset>`;
}

function effortsOf() {
  const { capabilities } = answering.value ?? {};
  return capabilities?.thinking ? ["none", ...capabilities.thinking_efforts.filter((effort) => effort !== "none")] : [];
}

/** Where that number sensibly begins and ends. @param {string} name */
function startOf(name) {
  const [from, to] = NUMBERS.find((each) => each.name === name)?.slide ?? [64, 512];
  return { name, from, to };
}

/** @typedef {{seed: number, count: number, name: string, from: number, to: number, models: string[], efforts: string[]}} Picked */

/** @param {string} kind @param {Picked} choice */
function variantsOf(kind, { seed, count, name, from, to, models: ids, efforts }) {
  const inside = Math.min(MAX_LANES, Math.max(1, Math.round(count) || 1));
  if (kind === "seeds") return seeds(seed, inside);
  if (kind === "number") return spread(name, from, to, inside, fields.value.get(name)?.type === "integer");
  return kind === "thinking" ? each("reasoning_effort", efforts) : each("model", ids);
}

/** Why no lanes can be made of it; "" where they can. @param {string} kind @param {Picked} choice */
function problemOf(kind, { seed, count, name, from, to, models: ids, efforts }) {
  if (kind === "models") return ids.length ? "" : "Choose at least one model";
  if (kind === "thinking") return efforts.length ? "" : "Choose at least one";
  if (!(count >= 1 && count <= MAX_LANES)) return `There can be 1 to ${MAX_LANES} lanes`;
  if (kind === "seeds") return Number.isInteger(seed) ? "" : "A seed is a whole number";
  const { minimum = -Infinity, maximum = Infinity } = fields.value.get(name) ?? {};
  const isInside = [from, to].every((value) => value >= minimum && value <= maximum);
  return isInside ? "" : `${name} goes from ${minimum} to ${maximum}`;
}

/** @param {string} kind @param {Record<string, any>[]} variants */
function says(kind, variants) {
  const all = variants.flatMap((variant) => Object.values(variant)).join(", ");
  const note = kind === "models" ? " One after another: each model is loaded once." : "";
  return `${all}.${note}`;
}
