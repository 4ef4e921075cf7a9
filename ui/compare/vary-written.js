// What Vary makes lanes of that is written: texts, one a lane; forms of the answer; tools and the like, with and without.

import { useLayoutEffect, useRef } from "../vendor/hooks.js";
import { CodeField } from "../parts/code-field.js";
import { FORMATS, FormText } from "../parts/form-text.js";
import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";
import { biasOf, draftOf, problem, problemOf, toolsOf, writtenTools } from "../state/held.js";
import { stopProblem } from "../state/range.js";
import { MAX_LANES } from "../state/slots.js";
import { Boxes } from "./boxes.js";
import { TOOLS_EXAMPLE } from "./written.js";

/** @typedef {import("../state/asked.js").Values} Values */
/** @typedef {{texts: string[], formats: string[], drafts: Record<string, string>, list: string}} Written drafts: the text of each form; list: of tools or of tokens, in JSON */
/** @typedef {{name: string, written: Written, onChange: (changes: Partial<Written>) => void}} Properties name: of the field */

/** Fields that are varied so, by how. @type {{name: string, label: string, kind: "texts" | "forms" | "list"}[]} */
export const WRITTEN = [
  { name: "system", label: "System prompt", kind: "texts" },
  { name: "response_format", label: "Output", kind: "forms" },
  { name: "tools", label: "Tools", kind: "list" },
  { name: "stop", label: "Stop at", kind: "texts" },
  { name: "logit_bias", label: "Logit bias", kind: "list" },
];
const LETTERS = "ABCDEFGH";
/** @type {Record<string, {label: string, placeholder: string, about: string, read: (text: string) => any}>} */
const LISTS = {
  tools: { label: "Tools, as a list in JSON", placeholder: TOOLS_EXAMPLE, about: "One lane has them, one has none.", read: toolsOf },
  logit_bias: { label: "Added to logits, by token id", placeholder: '{"42": -1.5}', about: "One lane has it, one has none.", read: biasOf },
};

/** Where it begins: at what lane A asks. @param {string} name @param {Values} values @returns {Written} */
export function beginningOf(name, values) {
  const value = values[name];
  const list = value === undefined ? "" : name === "tools" ? writtenTools(value) : typeof value === "string" ? value : JSON.stringify(value);
  return { texts: [name === "stop" ? (value ?? []).join("\n") : String(value ?? ""), ""], formats: ["text", "json"], drafts: {}, list };
}

/** Why no lanes can be made of it; "" where they can. @param {string} name @param {Written} written */
export function writtenProblem(name, written) {
  const { formats, drafts, list } = written;
  const kind = kindOf(name);
  const tooMany = name === "stop" ? written.texts.map((text, at) => [LETTERS[at], stopProblem(linesOf(text))]).find(([, words]) => words) : undefined;
  if (tooMany) return tooMany.join(": ");
  if (kind === "texts") return new Set(writtenVariants(name, written).map((variant) => JSON.stringify(variant))).size < 2 ? "Write texts that differ" : "";
  if (kind === "list") return problem(() => LISTS[name].read(list)) || (Object.keys(LISTS[name].read(list) ?? {}).length ? "" : "Write what one of them has");
  return formats.length ? formats.map((format) => named(format, problemOf(format, drafts[format] ?? ""))).find(Boolean) ?? "" : "Choose at least one";
}

/** @param {string} name @param {Written} written @returns {Values[]} */
export function writtenVariants(name, { texts, formats, drafts, list }) {
  const kind = kindOf(name);
  if (kind === "forms") return formats.map((format) => draftOf(format, drafts[format] ?? ""));
  if (kind === "list") return [{ [name]: LISTS[name].read(list) }, { [name]: name === "tools" ? [] : {} }];
  return texts.map((text) => ({ [name]: name === "stop" ? linesOf(text) : text.trim() }));
}

/** @param {Properties} properties */
export function WrittenFields({ name, written, onChange }) {
  const kind = kindOf(name);
  if (kind === "texts") return html`<${Texts} key=${name} name=${name} texts=${written.texts} onSet=${(/** @type {string[]} */ texts) => onChange({ texts })} />`;
  if (kind === "forms") return html`<${Forms} written=${written} onChange=${onChange} />`;
  const { label, placeholder, about, read } = LISTS[name];
  return html`<div class="whole"><${CodeField} key=${name} id="vary-list" label=${label} isTitled=${true} placeholder=${placeholder} value=${written.list} isOptional=${true}
      problemOf=${(/** @type {string} */ text) => problem(() => read(text))} onInput=${(/** @type {string} */ typed) => onChange({ list: typed })} />
    <p class="about">${about}</p></div>`;
}

// --- Internal

/** What is wrong with a form, with its name: there may be several. @param {string} format @param {string} words "" for nothing */
function named(format, words) {
  return words && `${new Map(FORMATS).get(format)}: ${words}`;
}

/** @param {string} text */
function linesOf(text) {
  return text.split("\n").filter(Boolean);
}

/** @param {string} name */
function kindOf(name) {
  return WRITTEN.find((field) => field.name === name)?.kind;
}

/** @param {{name: string, texts: string[], onSet: (texts: string[]) => void}} properties */
function Texts({ name, texts, onSet }) {
  const before = useRef(texts.length);
  useLayoutEffect(() => {
    const id = texts.length > before.current ? `vary-text-${texts.length - 1}` : texts.length < before.current ? "vary-text-0" : "";
    document.getElementById(id)?.focus();
    before.current = texts.length;
  }, [texts.length]);
  const isStop = name === "stop";
  return html`<fieldset class="boxes"><legend class="title">${isStop ? "Stops of each lane, one a line" : "Text of each lane"}</legend>
    ${texts.map((text, at) => html`<div class="written" key=${at}>
      <label class="letter" for=${`vary-text-${at}`}>${LETTERS[at]}</label>
      <textarea class=${`field ${isStop ? "code" : ""}`} id=${`vary-text-${at}`} rows="2" placeholder=${isStop ? "Nothing" : "None: the model’s own"} spellcheck=${!isStop} value=${text}
        onInput=${(/** @type {any} */ event) => onSet(texts.with(at, event.target.value))}></textarea>
      ${texts.length > 2 && html`<button type="button" class="icon-button" aria-label=${`Remove ${LETTERS[at]}`} onClick=${() => onSet(texts.toSpliced(at, 1))}><${Icon} name="close" /></button>`}
    </div>`)}
    <button type="button" class="button" id="vary-add" disabled=${texts.length >= MAX_LANES} onClick=${() => onSet([...texts, ""])}><${Icon} name="plus" />Another</button>
  </fieldset>`;
}

/** @param {{written: Written, onChange: (changes: Partial<Written>) => void}} properties */
function Forms({ written: { formats, drafts }, onChange }) {
  const wordsOf = new Map(FORMATS);
  const pick = (/** @type {string[]} */ words) => onChange({ formats: FORMATS.flatMap(([format, word]) => (words.includes(word) ? [format] : [])) });
  return html`<${Boxes} label="Values" isShort=${true} all=${[...wordsOf.values()]} chosen=${formats.map((format) => wordsOf.get(format))} onSet=${pick} />
    ${formats.filter((format) => format !== "text" && format !== "json").map((format) => html`<div class="whole" key=${format}><${FormText} id=${`vary-${format}`} format=${format} value=${drafts[format] ?? ""} isTitled=${true}
      onInput=${(/** @type {string} */ text) => onChange({ drafts: { ...drafts, [format]: text } })} /></div>`)}`;
}
