// What all lanes ask, or one of them otherwise: all that a request can say, so that all of it can be seen and taken back.

import { useState } from "../vendor/hooks.js";
import { Dialog } from "../parts/dialog.js";
import { FurtherFields, Title } from "../parts/further-fields.js";
import { html } from "../parts/html.js";
import { Parameter } from "../parts/parameter.js";
import { Segments } from "../parts/segments.js";
import { open, setForAll, setForLane } from "../state/compare.js";
import { isForm } from "../state/held.js";
import { BUDGET, effortsOf, FURTHER, NAMES, OFFERED } from "../state/offered.js";
import { answering, fields, models } from "../state/server.js";
import { Choice } from "./choice.js";
import { inWords, shortened } from "./words.js";
import { Form, Functions } from "./written.js";

const SHOWN = new Set([...NAMES, "model", "system", "reasoning_effort", "tools", "tool_choice"]);

/** @param {{lane: import("../state/lane.js").Lane | null, letter: string, onClose: () => void}} properties lane null: all of them */
export function Values({ lane, letter, onClose }) {
  const shared = open.value.values.value;
  const own = lane ? lane.values.value : shared;
  const set = (/** @type {string} */ name, /** @type {unknown} */ value) => (lane ? setForLane(lane, name, value) : setForAll(name, value));
  const { capabilities, defaults } = answering.value ?? {};
  const [, ...efforts] = effortsOf(capabilities, own.reasoning_effort);
  const before = lane ? shared : {};
  const hasBudget = efforts.length > 0 || own[BUDGET.name] !== undefined;
  const hasTools = capabilities?.tools || own.tools !== undefined || before.tools !== undefined;
  const numSet = FURTHER.filter(({ name }) => own[name] !== undefined).length;
  const [wasSet] = useState(numSet > 0);
  const none = lane ? "As all" : "Default";
  const others = Object.keys(own).filter((name) => !SHOWN.has(name) && !isForm(name));
  return html`<${Dialog} label=${lane ? `Lane ${letter}` : "Settings of all lanes"} kind="values" onClose=${onClose}>
    <${Title} id="value-system" words="System prompt" kind="title" onUndo=${lane && own.system !== undefined && (() => set("system", undefined))} />
    <textarea class="field" id="value-system" rows="3" placeholder=${own.system === "" ? "None" : (before.system ?? "None: the model’s own")} value=${own.system ?? ""}
      onInput=${(/** @type {any} */ event) => set("system", event.target.value || undefined)}></textarea>
    ${lane && (models.value.length > 1 || own.model) && html`<${Choice} id="value-model" label="Model" options=${[["", "The one that serves"], ...modelsWith(own.model)]} value=${own.model ?? ""}
      onPick=${(/** @type {string} */ model) => set("model", model || undefined)} />`}
    ${efforts.length > 0 && html`<p class="title" id="value-thinking">Thinking</p>
      <${Segments} name="value-effort" label="Thinking" options=${[["", lane ? "As all" : "Model’s"], ...efforts]}
        value=${own.reasoning_effort ?? ""} onPick=${(/** @type {string} */ effort) => set("reasoning_effort", effort || undefined)} />`}
    <div class="parameters">
      ${[...OFFERED, ...(hasBudget ? [BUDGET] : [])].map(
        ({ name, ...about }) => html`<${Parameter} key=${name} id=${`value-${name}`} ...${about} value=${own[name]} own=${before[name] ?? defaults?.[name]}
          ownWord=${before[name] === undefined ? "model’s" : "as all"} range=${fields.value.get(name)} onSet=${(/** @type {number | undefined} */ value) => set(name, value ?? (name === "seed" && !lane ? shared.seed : undefined))} />`,
      )}
    </div>
    <${Form} values=${own} none=${lane ? "As all" : ""} onSet=${set} />
    ${hasTools && html`<${Functions} values=${own} none=${lane ? "As all" : ""} onSet=${set} />`}
    <details class="further" open=${wasSet}><summary>More fields ${numSet > 0 && html`<span class="about">${numSet} set</span>`}</summary>
      <div class="parameters"><${FurtherFields} prefix="value" values=${own} none=${none} before=${lane && before} onSet=${set} /></div>
    </details>
    ${others.map((name) => {
      const { label, words } = inWords(name, own);
      return html`<p class="other" key=${name}><span>${label}</span><span class="about" title=${words}>${shortened(words)}</span>
        <button type="button" class="link" aria-label=${`${label}: ${lane ? "as all" : "take back"}`} onClick=${() => set(name, undefined)}>${lane ? "As all" : "Take back"}</button></p>`;
    })}
    <div class="actions"><button type="button" class="button main" onClick=${onClose}>Done</button></div>
  <//>`;
}

/** The models there are, and one that was named and is gone. @param {string | undefined} named */
function modelsWith(named) {
  const ids = models.value.map(({ id }) => id);
  return (named && !ids.includes(named) ? [...ids, named] : ids).map((id) => [id, id]);
}
