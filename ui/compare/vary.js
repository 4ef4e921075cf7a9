// Vary: lanes that differ in one thing, made from what lane A asks.

import { useState } from "../vendor/hooks.js";
import { Dialog } from "../parts/dialog.js";
import { html } from "../parts/html.js";
import { NumberBox, numberIn } from "../parts/number.js";
import { Segments } from "../parts/segments.js";
import { go } from "../router.js";
import { valuesOf } from "../state/asked.js";
import { open, vary } from "../state/compare.js";
import { BUDGET, effortsOf, FURTHER, OFFERED } from "../state/offered.js";
import { rangeProblem } from "../state/range.js";
import { MAX_LANES } from "../state/slots.js";
import { answering, canChoose, fields, models } from "../state/server.js";
import { each, seeds, spread } from "../state/variants.js";
import { Boxes } from "./boxes.js";
import { Choice } from "./choice.js";
import { beginningOf, WRITTEN, WrittenFields, writtenProblem, writtenVariants } from "./vary-written.js";
import { inWords, shortened } from "./words.js";

const NUMBERS = [...OFFERED.filter(({ name }) => name !== "seed"), BUDGET];
const CHOICES = FURTHER.filter(({ kind }) => kind === "choice");

/** @param {{onClose: () => void}} properties */
export function Vary({ onClose }) {
  const [kind, setKind] = useState("seeds");
  const [first] = open.value.lanes.value;
  const values = valuesOf(open.value, first);
  const { seed } = values;
  const [choice, setChoice] = useState({ seed, count: 4, name: "temperature", from: 0, to: 1.2, words: wordsOf("temperature"), models: models.value.map(({ id }) => id), efforts: effortsHere(), written: beginningOf("", {}) });
  const change = (/** @type {Partial<typeof choice>} */ changes) => setChoice({ ...choice, ...changes });
  const problem = problemOf(kind, choice);
  const variants = problem ? [] : variantsOf(kind, choice).slice(0, MAX_LANES);
  const take = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (problem) return;
    vary(variants);
    go("compare");
    onClose();
  };
  const kinds = [["seeds", "Seeds"], ["field", "A field"], ...(effortsHere().length ? [["thinking", "Thinking"]] : []), ...(models.value.length > 1 && canChoose.value ? [["models", "Models"]] : [])];
  return html`<${Dialog} label="Vary the lanes" kind="values" onClose=${onClose}>
    <form onSubmit=${take}>
      <${Segments} name="vary-kind" label="What to vary" options=${kinds} value=${kind} onPick=${setKind} />
      <div class="vary-fields">
        ${kind === "field" && html`<div class="whole"><${Choice} id="vary-name" label="Which" options=${namesOf()} value=${choice.name} onPick=${(/** @type {string} */ name) => change({ ...startOf(name), written: beginningOf(name, values) })} /></div>`}
        ${boxesOf(kind, choice.name).map((box) => html`<${Box} key=${box.field} ...${box} value=${choice[box.field]} onSet=${(/** @type {any} */ value) => change({ [box.field]: value })} />`)}
        ${kind === "field" && optionsOf(choice.name).length > 0 && html`<${Boxes} label="Values" all=${wordsOf(choice.name)} chosen=${choice.words} onSet=${(/** @type {string[]} */ words) => change({ words })} />`}
        ${kind === "field" && isWritten(choice.name) && html`<${WrittenFields} name=${choice.name} written=${choice.written} onChange=${(/** @type {Partial<typeof choice.written>} */ changes) => change({ written: { ...choice.written, ...changes } })} />`}
        ${kind === "thinking" && html`<${Boxes} label="Thinking" all=${effortsHere()} chosen=${choice.efforts} onSet=${(/** @type {string[]} */ efforts) => change({ efforts })} />`}
        ${kind === "models" && html`<${Boxes} label="Models" all=${models.value.map(({ id }) => id)} chosen=${choice.models} onSet=${(/** @type {string[]} */ chosen) => change({ models: chosen })} />`}
      </div>
      <p class=${problem ? "ending bad" : "about"} id="vary-says" role="status">${problem || says(kind, choice.name, variants)}</p>
      <div class="actions">
        <button type="button" class="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="button main" id="vary-make" disabled=${Boolean(problem)}>Make ${variants.length === 1 ? "one lane" : `${variants.length || ""} lanes`}</button>
      </div>
    </form>
  <//>`;
}

/** What is typed counts with each key: what it makes is said under it. @param {BoxOf & {value: any, onSet: (value: any) => void}} properties */
function Box({ field, label, range, value, onSet }) {
  const id = `vary-${field}`;
  return html`<div onInput=${(/** @type {any} */ event) => onSet(numberIn(event.target.value))}><label class="title" for=${id}>${label}</label>
    <${NumberBox} id=${id} value=${value} placeholder="" range=${range} onSet=${onSet} /></div>`;
}

function effortsHere() {
  return effortsOf(answering.value?.capabilities).flatMap(([effort]) => effort || []);
}

/** The fields of the panel that can be varied: a budget only where there is thinking, tools where the model takes any. @returns {[string, string][]} */
function namesOf() {
  const [system, ...written] = WRITTEN.filter(({ name }) => name !== "tools" || answering.value?.capabilities?.tools);
  const all = [system, ...NUMBERS, ...written, ...CHOICES].filter((field) => field !== BUDGET || effortsHere().length);
  return all.map(({ name, label }) => [name, label]);
}

/** @param {string} name */
function isWritten(name) {
  return WRITTEN.some((field) => field.name === name);
}

/** What there is to choose from; of a number nothing. @param {string} name */
function optionsOf(name) {
  return CHOICES.find((field) => field.name === name)?.options ?? [];
}

/** @param {string} name */
function wordsOf(name) {
  return optionsOf(name).map(([, words]) => words);
}

/** Where that field sensibly begins and ends. @param {string} name */
function startOf(name) {
  const [from, to] = NUMBERS.find((each) => each.name === name)?.slide ?? [64, 512];
  return { name, from, to, words: wordsOf(name) };
}

/** @typedef {{seed: number, count: number, name: string, from: number, to: number, words: string[], models: string[], efforts: string[],
 *   written: import("./vary-written.js").Written}} Picked words: of a choice's options */
/** @typedef {{field: "seed" | "count" | "from" | "to", label: string, of: string, range: import("../state/range.js").Range | undefined}} BoxOf of: whose problem it is */

/** The numbers that are asked for. @param {string} kind @param {string} name @returns {BoxOf[]} */
function boxesOf(kind, name) {
  const about = { of: NUMBERS.find((each) => each.name === name)?.label ?? "", range: fields.value.get(name) };
  /** @type {BoxOf} */
  const count = { field: "count", label: "Lanes", of: "Lanes", range: { minimum: 1, maximum: MAX_LANES, type: "integer" } };
  if (kind === "seeds") return [{ field: "seed", label: "From seed", of: "Seed", range: fields.value.get("seed") }, count];
  return kind === "field" && !optionsOf(name).length && !isWritten(name) ? [{ field: "from", label: "From", ...about }, { field: "to", label: "To", ...about }, count] : [];
}

/** @param {string} kind @param {Picked} choice */
function variantsOf(kind, { seed, count, name, from, to, words: chosen, models: ids, efforts, written }) {
  if (kind === "seeds") return seeds(seed, count);
  if (kind === "field" && isWritten(name)) return writtenVariants(name, written);
  const options = optionsOf(name);
  if (kind === "field" && options.length) return each(name, options.filter(([, words]) => chosen.includes(words)).map(([value]) => value));
  if (kind === "field") return spread(name, from, to, count, fields.value.get(name)?.type === "integer");
  return kind === "thinking" ? each("reasoning_effort", efforts) : each("model", ids);
}

/** Why no lanes can be made of it; "" where they can. @param {string} kind @param {Picked} choice */
function problemOf(kind, choice) {
  if (kind === "field" && isWritten(choice.name)) return writtenProblem(choice.name, choice.written);
  for (const { field, of, range } of boxesOf(kind, choice.name)) {
    const problem = choice[field] === undefined ? "Not set" : rangeProblem(choice[field], range);
    if (problem) return `${of}: ${problem}`;
  }
  return { models: choice.models, thinking: choice.efforts, ...(optionsOf(choice.name).length && { field: choice.words }) }[kind]?.length === 0 ? "Choose at least one" : "";
}

/** @param {string} kind @param {string} name of the field @param {Record<string, any>[]} variants */
function says(kind, name, variants) {
  const varied = { seeds: "seed", thinking: "reasoning_effort", models: "model" }[kind] ?? name;
  const said = variants.map((variant) => {
    const { label, words } = inWords(varied, variant);
    return `${varied === "response_format" && label !== "output" ? `${label} ` : ""}${shortened(words)}`;
  });
  // A text has commas of its own.
  const all = said.join(isWritten(varied) ? "; " : ", ");
  if (variants.length === 1) return `${all}. One lane: choose more to compare.`;
  const note = kind === "models" ? " One after another: each model is loaded once." : "";
  return `${all}${all.endsWith("…") ? "" : "."}${note}`;
}
