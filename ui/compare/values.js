// What all lanes ask, or one of them otherwise: system prompt, model, thinking, sampling.

import { Dialog } from "../parts/dialog.js";
import { html } from "../parts/html.js";
import { Parameter } from "../parts/parameter.js";
import { Segments } from "../parts/segments.js";
import { open, setForAll, setForLane } from "../state/compare.js";
import { OFFERED } from "../state/offered.js";
import { answering, fields, models } from "../state/server.js";

/** @param {{lane: import("../state/lane.js").Lane | null, letter: string, onClose: () => void}} properties lane null: all of them */
export function Values({ lane, letter, onClose }) {
  const shared = open.value.values.value;
  const own = lane ? lane.values.value : shared;
  const set = (/** @type {string} */ name, /** @type {unknown} */ value) => (lane ? setForLane(lane, name, value) : setForAll(name, value));
  const efforts = answering.value?.capabilities?.thinking ? ["none", ...answering.value.capabilities.thinking_efforts.filter((effort) => effort !== "none")] : [];
  const before = lane ? shared : {};
  return html`<${Dialog} label=${lane ? `Lane ${letter}` : "Settings of all lanes"} kind="values" onClose=${onClose}>
    <label class="title" for="value-system">System prompt</label>
    <textarea class="field" id="value-system" rows="3" placeholder=${before.system ?? "None: the model’s own"} value=${own.system ?? ""}
      onInput=${(/** @type {any} */ event) => set("system", event.target.value || undefined)}></textarea>
    ${lane && models.value.length > 1 && html`<${Choice} id="value-model" label="Model" options=${[["", "The one that serves"], ...models.value.map(({ id }) => [id, id])]} value=${own.model ?? ""}
      onPick=${(/** @type {string} */ model) => set("model", model || undefined)} />`}
    ${efforts.length > 0 && html`<p class="title" id="value-thinking">Thinking</p>
      <${Segments} name="value-effort" label="Thinking" options=${[["", lane ? "As all" : "Model’s"], ...efforts.map((effort) => [effort, effort === "none" ? "Off" : effort])]}
        value=${own.reasoning_effort ?? ""} onPick=${(/** @type {string} */ effort) => set("reasoning_effort", effort || undefined)} />`}
    <div class="parameters">
      ${OFFERED.map(
        ({ name, ...about }) => html`<${Parameter} key=${name} id=${`value-${name}`} ...${about} value=${own[name]} own=${before[name] ?? answering.value?.defaults?.[name]}
          ownWord=${before[name] === undefined ? "model’s" : "as all"} range=${fields.value.get(name)} onSet=${(/** @type {number | undefined} */ value) => set(name, value ?? (name === "seed" && !lane ? shared.seed : undefined))} />`,
      )}
    </div>
    <div class="actions"><button type="button" class="button main" onClick=${onClose}>Done</button></div>
  <//>`;
}

/** @param {{id: string, label: string, options: [string, string][], value: string, onPick: (value: string) => void}} properties options: value and words */
export function Choice({ id, label, options, value, onPick }) {
  return html`<div><label class="title" for=${id}>${label}</label>
    <select class="field" id=${id} value=${value} onChange=${(/** @type {any} */ event) => onPick(event.target.value)}>
      ${options.map(([option, words]) => html`<option key=${option} value=${option}>${words}</option>`)}
    </select></div>`;
}
