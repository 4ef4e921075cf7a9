// All keys, and how the page looks and listens.

import { Dialog } from "../parts/dialog.js";
import { html } from "../parts/html.js";
import { Segments } from "../parts/segments.js";
import { CONTROL } from "../parts/sending.js";
import { dialog, look, setLook, TEXT } from "../state/session.js";

/** @type {[string, [string[], string][]][]} keys side by side are pressed together; "or" and "…" stand between keys */
const GROUPS = [
  ["Everywhere", [
    [[CONTROL, "K"], "palette: chats, views, models, fields, actions"],
    [[CONTROL, "Shift", "O"], "new chat"],
    [[CONTROL, "Shift", "F"], "search all chats"],
    [["Alt", "1", "…", "5"], "views, in the order of the rail"],
    [["J", "or", "K"], "next, previous in a list, as ↓ and ↑"],
    [["P"], "pin a chat of the list, or no longer"],
    [["?"], "this list"],
    [["Esc"], "close, else stop, else leave the field"],
  ]],
  ["Chat", [
    [["/"], "to the message field"],
    [["Enter"], "send"],
    [["Shift", "Enter"], "a new line"],
    [[CONTROL, "Enter"], "send, even while an answer runs"],
    [["↑"], "in an empty message field: edit the last message"],
    [[CONTROL, "."], "panel in and out"],
    [[CONTROL, "Shift", "C"], "copy the last answer"],
    [[CONTROL, "Shift", ";"], "copy the last code block"],
    [["End", "or", "Home"], "end (and follow), start"],
  ]],
  ["Turns", [
    [["Alt", "↑", "or", "↓"], "previous, next turn"],
    [["Alt", "←", "or", "→"], "another version of the turn"],
    [["R"], "regenerate"],
    [["S"], "same again"],
    [["E"], "edit"],
    [["B"], "branch into a new chat"],
    [["C"], "copy"],
    [["D"], "delete"],
  ]],
  ["Compare and Agents", [
    [["Enter"], "Compare: run all lanes"],
    [[CONTROL, "Enter"], "Agents: run the tasks; Enter begins the next one"],
    [["Esc"], "stop all; else close the open task"],
  ]],
  ["Charts", [
    [["Space"], "pause"],
    [["←", "or", "→"], "move the cursor"],
  ]],
];

export function KeySheet() {
  const { density, hasLetters, textSize, theme } = look.value;
  return html`<${Dialog} label="Keys" kind="keys" onClose=${() => (dialog.value = null)}>
    <div class="key-options">
      <label class="check"><input type="checkbox" id="letters" checked=${hasLetters} onChange=${(/** @type {any} */ event) => setLook({ hasLetters: event.target.checked })} />Single letters and signs act</label>
      <${Segments} name="theme" label="Theme" options=${[["auto", "System’s"], ["light", "Light"], ["dark", "Dark"]]} value=${theme} onPick=${(/** @type {string} */ picked) => setLook({ theme: picked })} />
      <${Segments} name="density" label="Density" options=${[["comfortable", "Comfortable"], ["compact", "Compact"]]} value=${density} onPick=${(/** @type {string} */ picked) => setLook({ density: picked })} />
      <label class="text-size">Text ${textSize} %<input class="range" type="range" id="text-size" min=${TEXT.least} max=${TEXT.most} step="5" value=${textSize}
        style=${{ "--share": `${(100 * (textSize - TEXT.least)) / (TEXT.most - TEXT.least)}%` }} onInput=${(/** @type {any} */ event) => setLook({ textSize: event.target.valueAsNumber })} /></label>
    </div>
    <div class="key-groups">
      ${GROUPS.map(
        ([name, rows]) => html`<section key=${name}><h3>${name}</h3><dl>
          ${rows.map(([keys, does]) => html`<dt>${keys.map((key) => (key === "or" || key === "…" ? html`<span>${key}</span>` : html`<kbd>${key}</kbd>`))}</dt><dd>${does}</dd>`)}
        </dl></section>`,
      )}
    </div>
    <div class="actions"><button type="button" class="button" onClick=${() => (dialog.value = null)}>Close</button></div>
  <//>`;
}
