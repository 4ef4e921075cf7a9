// The memory of the card as it was planned at load, beside the driver's own account, and the tiers of KV pages.

import { useState } from "../vendor/hooks.js";
import { bytes, count, shapeOf } from "../parts/format.js";
import { html } from "../parts/html.js";
import { readKey } from "../api/exposition.js";
import { ring, shown } from "../state/samples.js";
import { Tiers } from "./tiers.js";

const RESERVED = "ignis_vram_reserved_bytes{";
/** Which of the plan's lines are one part of the picture; what is not here is a part of its own. */
const PARTS = /** @type {const} */ ([
  { label: "Weights", lines: ["weights", "embedding", "mapped_files"], colour: 2 },
  { label: "KV pages", lines: ["kv_pool"], colour: 1 },
  { label: "Workspace", lines: ["workspace", "sampling", "decode_graph", "cuda_context"], colour: 3 },
  { label: "Lanes", lines: ["lane_state"], colour: 4 },
  { label: "Host tier", lines: ["kv_ram"], colour: 5 },
]);
const LEAST_SHARE = 0.004;

export function Memory() {
  const [isTable, setTable] = useState(false);
  const last = shown.value.stop - 1;
  const lines = linesAt(last);
  const budget = ring.at("ignis_vram_budget_bytes", last);
  const taken = [...lines.values()].reduce((sum, size) => sum + size, 0);
  const parts = partsOf(lines);
  const free = Math.max(0, budget - taken);
  if (free > 0) parts.push({ label: "Free", size: free, colour: 0 });
  const all = Math.max(budget || 0, taken);
  const account = taken > 0 ? accountAt(last, budget, taken) : "no model is loaded";
  return html`<section class="card memory" aria-label="Memory">
    <header>
      <h2>Memory, as planned at load</h2>
      <span class="quiet" key=${shapeOf(account)}>${account}</span>
      <button type="button" class="link" aria-label=${`Memory as a ${isTable ? "picture" : "table"}`} onClick=${() => setTable(!isTable)}>${isTable ? "Picture" : "Table"}</button>
    </header>
    ${isTable
      ? html`<${Lines} lines=${lines} free=${free} budget=${budget} />`
      : html`<div class="plan" role="img" aria-label=${parts.map((part) => `${part.label} ${bytes(part.size)}`).join(", ")}>
            ${parts.map((part) => html`<span key=${part.label} class=${`part part-${part.colour}`} style=${{ flexGrow: Math.max(part.size / all, LEAST_SHARE) }} title=${`${part.label} ${bytes(part.size)}`}>
              ${part.size / all > 0.14 && html`<span>${part.label} ${bytes(part.size)}</span>`}</span>`)}
          </div>
          <ul class="keys">${parts.map((part) => html`<li key=${part.label}><i class=${`swatch part-${part.colour}`}></i>${part.label} ${bytes(part.size)}</li>`)}</ul>`}
    <${Tiers} last=${last} />
  </section>`;
}

/** @param {{lines: Map<string, number>, free: number, budget: number}} properties */
function Lines({ lines, free, budget }) {
  return html`<div class="scroll lines" tabindex="0" role="region" aria-label="The plan, line by line"><table>
    <thead><tr><th scope="col">Line of the plan</th><th scope="col" class="number">Bytes</th><th scope="col" class="number">Size</th></tr></thead>
    <tbody>
      ${[...lines, ["free", free], ["budget", budget]].map(
        ([name, size]) => html`<tr key=${name}><td>${name}</td><td class="number">${count(Number(size))}</td><td class="number">${bytes(Number(size))}</td></tr>`,
      )}
    </tbody>
  </table></div>`;
}

/** What the load reserved, by line of the plan; those of nothing left out. @param {number} last */
function linesAt(last) {
  /** @type {Map<string, number>} */
  const lines = new Map();
  for (const key of ring.keys) {
    if (!key.startsWith(RESERVED)) continue;
    const size = ring.at(key, last);
    if (size > 0) lines.set(readKey(key).labels.line, size);
  }
  return lines;
}

/** @param {Map<string, number>} lines @returns {{label: string, size: number, colour: number}[]} */
function partsOf(lines) {
  const rest = new Map(lines);
  const parts = PARTS.map(({ label, lines: names, colour }) => {
    let size = 0;
    for (const name of names) {
      size += rest.get(name) ?? 0;
      rest.delete(name);
    }
    return { label, size, colour: /** @type {number} */ (colour) };
  });
  const others = [...rest].map(([name, size]) => ({ label: name.replaceAll("_", " "), size, colour: 5 }));
  return [...parts, ...others].filter(({ size }) => size > 0);
}

/** @param {number} last @param {number} budget @param {number} taken */
function accountAt(last, budget, taken) {
  const words = [`${bytes(budget)} budget`, `${bytes(taken)} planned`];
  const unplanned = ring.at("ignis_vram_unplanned_bytes", last);
  const used = ring.at('ignis_device_memory_bytes{state="used"}', last);
  const total = ring.at('ignis_device_memory_bytes{state="total"}', last);
  // A load on the CPU has no driver to ask.
  const isCard = ring.at(`${RESERVED}line="cuda_context"}`, last) > 0;
  if (isCard) words.push(unplanned === 0 ? "the driver agrees" : `the driver agrees within ${bytes(Math.abs(unplanned))}`);
  if (total > 0) words.push(`${bytes(used)} of ${bytes(total)} in use`);
  return words.join(" · ");
}
