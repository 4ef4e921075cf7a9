// The bar of Compare: what is open, the model, and what is done with all lanes.

import { html } from "../parts/html.js";
import { Menu } from "../parts/menu.js";
import { go } from "../router.js";
import { Earlier } from "../shell/earlier.js";
import { Icon } from "../shell/icons.js";
import { ModelChip } from "../shell/model-chip.js";
import { addLane, open, shelf } from "../state/compare.js";
import { MAX_LANES } from "../state/slots.js";

/** @param {{problem: string, onRun: () => void, onVary: () => void, onValues: () => void}} properties */
export function Bar({ problem, onRun, onVary, onValues }) {
  const series = open.value;
  const count = series.lanes.value.length;
  const isFull = count >= MAX_LANES;
  const isRunning = series.isRunning.value;
  const numShared = Object.keys(series.values.value).filter((name) => name !== "seed").length;
  const startNew = () => (shelf.startNew(), go("compare"), document.getElementById("prompt")?.focus());
  const items = [
    { label: "Another lane", act: addLane, isDisabled: isFull || isRunning },
    { label: "Vary…", act: onVary, isDisabled: isRunning },
    { label: "Settings of all lanes…", act: onValues, isDisabled: isRunning },
    { label: "New comparison", act: startNew, isApart: true },
  ];
  return html`<header class="bar">
    <${Earlier} label="Earlier comparisons" shelf=${shelf} place="compare" unit="lanes" />
    <h1 tabindex="-1">${series.title.value || "Compare"}</h1>
    <${ModelChip} />
    <div class="rest"></div>
    <span class="count wide">${count} of ${MAX_LANES} lanes</span>
    <button type="button" class="button wide" id="add-lane" disabled=${isFull || isRunning} onClick=${addLane}><${Icon} name="plus" />Lane</button>
    <button type="button" class="button wide" id="vary" disabled=${isRunning} onClick=${onVary}>Vary…</button>
    <button type="button" class="button wide" id="values" disabled=${isRunning} title="What all lanes ask: system prompt, sampling, cap" onClick=${onValues}>
      <${Icon} name="sliders" />Settings${numShared > 0 && html` <span class="tag hot">${numShared}</span>`}</button>
    <button type="button" class="icon-button wide" id="new" aria-label="New comparison" title="New comparison" onClick=${startNew}><${Icon} name="edit" /></button>
    <span class="narrow"><${Menu} id="compare-more" label="More" face=${html`<${Icon} name="more" />`} items=${items} /></span>
    ${isRunning
      ? html`<button type="button" class="button main" id="stop-all" key="stop" title="Stop all (Esc)" onClick=${() => series.stop()}><${Icon} name="stop" />Stop all</button>`
      : html`<button type="button" class="button main" id="run-all" key="run" disabled=${!series.hasPrompt.value || problem !== ""} title=${problem} onClick=${onRun}><${Icon} name="again" />Run all</button>`}
  </header>`;
}
