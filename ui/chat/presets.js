// The preset of a chat: chosen, saved, deleted.

import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";
import { chosen, drop, isChanged, isEmpty, keep, load, presets, take } from "../state/presets.js";

export function Presets() {
  const [isNaming, setNaming] = useState(false);
  useEffect(() => {
    load();
  }, []);
  const wasNaming = useRef(false);
  useLayoutEffect(() => {
    // Where the name was asked for, what was chosen by it has the focus.
    if (wasNaming.current && !isNaming) document.getElementById("preset")?.focus();
    wasNaming.current = isNaming;
  }, [isNaming]);
  const current = chosen.value;
  if (isNaming) return html`<${Name} name=${current?.name ?? ""} onDone=${() => setNaming(false)} />`;
  return html`<section><h2><label for="preset">Preset</label>
      <button type="button" class="link" id="preset-save" disabled=${isEmpty.value} onClick=${() => setNaming(true)}>${isChanged.value ? "Save changes" : "Save as…"}</button></h2>
    <div class="preset">
      <select class="field" id="preset" value=${current?.id ?? ""} onChange=${(/** @type {any} */ event) => take(event.target.value)}>
        <option value="">None</option>
        ${presets.value.map((preset) => html`<option key=${preset.id} value=${preset.id}>${preset.name}${preset === current && isChanged.value ? ", changed" : ""}</option>`)}
      </select>
      ${current && html`<button type="button" class="icon-button" id="preset-drop" aria-label=${`Delete the preset ${current.name}`} title="Delete" onClick=${() => drop(current)}><${Icon} name="bin" /></button>`}
    </div></section>`;
}

/** Asks under which name it is kept. @param {{name: string, onDone: () => void}} properties */
function Name({ name, onDone }) {
  const [typed, setTyped] = useState(name);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.select(), []);
  const finish = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!typed.trim()) return;
    await keep(typed);
    onDone();
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onDone();
  };
  return html`<section><h2><label for="preset-name">Name of the preset</label></h2>
    <form class="preset" onSubmit=${finish} onKeyDown=${keys}>
      <input class="field" id="preset-name" ref=${field} maxlength="60" autocomplete="off" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} />
      <button type="submit" class="button main" id="preset-keep">Save</button>
      <button type="button" class="button" onClick=${onDone}>Cancel</button>
    </form></section>`;
}
