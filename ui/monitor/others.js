// Every series that the server has, known to this page or not: its labels, its value, how fast it grows.

import { useState } from "../vendor/hooks.js";
import { readKey } from "../api/exposition.js";
import { shapeOf } from "../parts/format.js";
import { html } from "../parts/html.js";
import { ring, shown } from "../state/samples.js";
import { Sparkline } from "./sparkline.js";
import { useVisible } from "./visible.js";

const MOST_ROWS = 60;

export function Others() {
  const [wanted, setWanted] = useState("");
  const [root, isVisible] = useVisible();
  return html`<section class="card others" aria-label="All series" ref=${root}>
    <header>
      <h2>All series</h2>
      <label class="search-box"><span class="reader">Find a series</span>
        <input type="search" class="field" placeholder="Find a series" value=${wanted} onInput=${(/** @type {any} */ event) => setWanted(event.target.value)} />
      </label>
    </header>
    ${isVisible ? html`<${Table} wanted=${wanted} />` : html`<div class="scroll"></div><p class="foot"></p>`}
  </section>`;
}

/** @param {{wanted: string}} properties */
function Table({ wanted }) {
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  const { stop } = shown.value;
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  // Buckets are many and say little alone; whoever looks for them finds them.
  const found = ring.keys.filter((key) => (words.length ? words.every((word) => key.toLowerCase().includes(word)) : !key.includes("_bucket{")));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="All series, table"><table>
      <thead><tr><th scope="col">Name</th><th scope="col">Labels</th><th scope="col" class="number">Value</th><th scope="col" class="number">A second</th><th scope="col"><span class="reader">Course</span></th></tr></thead>
      <tbody>
        ${found.slice(0, MOST_ROWS).map((key) => html`<${Row} key=${key} of=${key} last=${stop - 1} isOpen=${open === key} onOpen=${() => setOpen(open === key ? null : key)} />`)}
      </tbody>
    </table></div>
    <p class="quiet foot" role="status">${found.length > MOST_ROWS ? `${MOST_ROWS} of ${found.length} shown` : `${found.length} shown`}${!words.length && ", buckets left out"}</p>`;
}

/** @param {{of: string, last: number, isOpen: boolean, onOpen: () => void}} properties */
function Row({ of: key, last, isOpen, onOpen }) {
  const { name, labels } = readKey(key);
  const isCounter = /_(total|count|sum|bucket)$/.test(name);
  const value = short(ring.at(key, last));
  const rate = isCounter ? short(ring.rate(key, last)) : "";
  return html`<tr>
    <td class="code" title=${familyOf(name)}>${name}</td>
    <td class="code">${Object.entries(labels).map(([label, value]) => `${label}=${value}`).join(" ")}</td>
    <td class="number" key=${`value ${shapeOf(value)}`}>${value}</td>
    <td class="number" key=${`rate ${shapeOf(rate)}`}>${rate}${rate && html`<span class="narrow"> a second</span>`}</td>
    <td class="course">${isOpen && html`<${Sparkline} of=${key} isRate=${isCounter} />`}<button type="button" class="link" aria-expanded=${isOpen} aria-label=${`Course of ${key}`} onClick=${onOpen}>${isOpen ? "Hide" : "Course"}</button></td>
  </tr>`;
}

/** @param {string} name */
function familyOf(name) {
  return (ring.families.get(name) ?? ring.families.get(name.replace(/_(total|count|sum|bucket)$/, "")))?.text ?? "";
}

/** @param {number} value */
function short(value) {
  if (Number.isNaN(value)) return "–";
  return value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 1000 ? 15 : 4, maximumFractionDigits: Math.abs(value) >= 1000 ? 0 : 9 });
}
