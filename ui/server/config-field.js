// One field of the configuration: what it is, its control by kind, where its value came from.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { add, check, discard, edit, edits, origins, rows, textOf } from "../state/config.js";
import { route } from "../state/session.js";

/** @typedef {import("../api/config.js").Field} Field */

const MOST_SEGMENTS = 3;

/** @param {{field: Field, isNamed: boolean}} properties */
export function ConfigField({ field, isNamed }) {
  const row = useRef(/** @type {HTMLElement | null} */ (null));
  const found = edits.value.get(field.key);
  const locked = lockOf(field);
  useEffect(() => {
    if (!isNamed) return;
    row.current?.scrollIntoView({ block: "center" });
    /** @type {HTMLElement | null} */ (row.current?.querySelector(".control :is(input, select, button):enabled") ?? row.current)?.focus({ preventScroll: true });
    // It may be asked for once more.
  }, [isNamed && route.value]);
  const id = `field-${field.key}`;
  return html`<div class=${`field-row ${found ? "changed" : ""} ${found?.problem ? "wrong" : ""}`} tabindex="-1" ref=${row} data-key=${field.key}>
    <div class="about">
      <div class="head">
        <label for=${id} class="code" id=${`${id}-name`}>${field.key}</label>
        ${field.effect !== "live" && html`<span class=${`tag ${field.effect}`}>${field.effect}</span>`}
        <${Families} field=${field} />
      </div>
      <p id=${`${id}-text`}>${sentence(field.description)} <span class="rule">${ruleOf(field)}</span></p>
      ${locked && html`<p class="lock" id=${`${id}-lock`}>${locked}</p>`}
      ${found?.problem && html`<p class="problem" id=${`${id}-problem`} role="alert">${found.problem}</p>`}
    </div>
    <${Control} field=${field} id=${id} isLocked=${locked !== ""} describedBy=${`${id}-text${locked ? ` ${id}-lock` : ""}${found?.problem ? ` ${id}-problem` : ""}`} isWrong=${Boolean(found?.problem)} />
    <${From} field=${field} isChanged=${Boolean(found)} />
  </div>`;
}

/**
 * @typedef {{field: Field, id: string, isLocked: boolean, describedBy: string, isWrong: boolean}} ControlProperties
 * @param {ControlProperties} properties
 */
function Control(properties) {
  const { field, id, isLocked, describedBy, isWrong } = properties;
  const text = textOf(field);
  const set = (/** @type {Event} */ event) => edit(field, /** @type {HTMLInputElement} */ (event.target).value);
  if (field.kind === "secret") return html`<${Secret} ...${properties} />`;
  if (field.kind === "bool") {
    return html`<div class="control"><input type="checkbox" role="switch" id=${id} checked=${text === "true"} disabled=${isLocked} aria-describedby=${describedBy}
      onChange=${(/** @type {any} */ event) => edit(field, String(event.target.checked))} /></div>`;
  }
  if (field.choices && field.choices.length <= MOST_SEGMENTS && field.default !== null && !isLocked) {
    return html`<div class="control segments" role="radiogroup" aria-labelledby=${`${id}-name`} aria-describedby=${describedBy}>
      ${field.choices.map((choice, at) => html`<label key=${choice}><input type="radio" id=${at ? undefined : id} name=${id} value=${choice} checked=${text === choice} onChange=${set} />${choice}</label>`)}
    </div>`;
  }
  if (field.choices) {
    return html`<div class="control"><select class=${`field ${isOwn(field) ? "" : "unset"}`} id=${id} disabled=${isLocked} aria-describedby=${describedBy} aria-invalid=${isWrong} onChange=${set}>
      ${field.default === null && html`<option value="" selected=${text === ""}>unset</option>`}
      ${field.choices.map((choice) => html`<option key=${choice} value=${choice} selected=${text === choice}>${choice}</option>`)}
    </select></div>`;
  }
  return html`<div class="control"><input type="text" class=${`field ${isOwn(field) ? "" : "unset"}`} id=${id} value=${text} disabled=${isLocked} placeholder=${placeholderOf(field)} autocomplete="off" spellcheck=${false}
    inputmode=${["integer", "seconds", "number"].includes(field.kind) ? "decimal" : undefined} aria-describedby=${describedBy} aria-invalid=${isWrong} onInput=${set} onBlur=${() => check(field)} /></div>`;
}

/** Whether it is set, never what it is; and a box for another. @param {ControlProperties} properties */
function Secret({ field, id, isLocked, describedBy }) {
  const [isOpen, setOpen] = useState(false);
  const isSet = origins.value.get(field.key)?.is_set;
  const found = edits.value.get(field.key);
  const hasEdit = Boolean(found);
  useEffect(() => {
    // Applied or put back: what was typed is gone from the page.
    if (!hasEdit) setOpen(false);
  }, [hasEdit]);
  if (isOpen && !isLocked) {
    // Not of the kind of a password: browsers would offer to keep it as this page's.
    return html`<div class="control secret"><input type="text" class="field masked" spellcheck=${false} id=${id} value=${found?.text ?? ""} autocomplete="off" placeholder="the new one" aria-describedby=${describedBy}
        onInput=${(/** @type {any} */ event) => edit(field, event.target.value)} onBlur=${() => check(field)} />
      <button type="button" class="link" onClick=${() => (setOpen(false), discard(field.key))}>Leave it</button></div>`;
  }
  return html`<div class="control secret"><span>${isSet ? "set, not shown" : "not set"}</span>
    ${!isLocked && html`<button type="button" class="link" aria-label=${`${isSet ? "Replace" : "Set"} ${field.key}`} aria-describedby=${describedBy} onClick=${() => setOpen(true)}>${isSet ? "Replace" : "Set"}</button>`}</div>`;
}

/** A family of models may have another value. @param {{field: Field}} properties */
function Families({ field }) {
  const free = field.families.filter((family) => !rows.value.some(({ key }) => key === `${field.group}.${family}.${field.name}`));
  if (!free.length) return null;
  const pick = (/** @type {any} */ event) => {
    add(field, event.target.value);
    event.target.value = "";
  };
  return html`<select class="families" aria-label=${`Another value of ${field.key} for one family`} onChange=${pick}>
    <option value="">for one family…</option>
    ${free.map((family) => html`<option key=${family} value=${family}>${family}</option>`)}
  </select>`;
}

/** @param {{field: Field, isChanged: boolean}} properties */
function From({ field, isChanged }) {
  const origin = origins.value.get(field.key);
  if (isChanged) {
    return html`<div class="origin"><button type="button" class="tag changed" title="Put back what is in effect" aria-label=${`changed: put ${field.key} back`} onClick=${() => discard(field.key)}>changed</button></div>`;
  }
  if (!origin) return html`<div class="origin"><button type="button" class="link" aria-label=${`Leave ${field.key} out`} onClick=${() => discard(field.key)}>Leave out</button></div>`;
  const source = origin.source;
  return html`<div class="origin">
    <span class=${`tag ${source === "default" ? "" : "info"}`} title=${origin.place}>${source === "changed" ? "this run" : source === "profile" ? origin.place : source}</span>
    ${origin.pending && html`<span class="tag restart" title="The file says otherwise">next start</span>`}
  </div>`;
}

/** Whether somebody said it: the file, a flag, a change here. @param {Field} field */
function isOwn(field) {
  return edits.value.has(field.key) || !["default", undefined].includes(origins.value.get(field.key)?.source);
}

/** Why it cannot be changed here; "": it can. @param {Field} field */
function lockOf(field) {
  const origin = origins.value.get(field.key);
  if (origin?.is_locked) return `Set by ${origin.place}, which is above the file: it cannot be changed here.`;
  return field.patchable ? "" : "Read at the start, and changed there only: by the file, the environment or a flag.";
}

/** @param {Field} field */
function placeholderOf(field) {
  return field.default === null ? "unset" : `${field.default}`;
}

/** A rule that says no more than the control does is left out. @param {Field} field */
function ruleOf(field) {
  if (field.kind === "bool" || field.choices || ["path", "text"].includes(field.kind)) return "";
  return sentence(field.rule);
}

/** @param {string} text */
function sentence(text) {
  return text && `${text[0].toUpperCase()}${text.slice(1)}.`;
}
