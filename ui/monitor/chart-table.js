// The numbers of a chart.

import { clock, shapeOf } from "../parts/format.js";
import { html } from "../parts/html.js";
import { ring, shown } from "../state/samples.js";

const MOST_ROWS = 120;

/** @param {{chart: import("./chart.js").Chart}} properties */
export function ChartTable({ chart }) {
  const { start, stop } = shown.value;
  const first = Math.max(start, stop - MOST_ROWS);
  const rows = [];
  for (let index = stop - 1; index >= first; index -= 1) rows.push(index);
  return html`<div class="plot scroll" tabindex="0" role="region" aria-label=${`${chart.title}, numbers`}>
    <table>
      <caption class="reader">${chart.title}${first > start ? `, the last ${MOST_ROWS} of ${stop - start} samples` : ""}</caption>
      <thead><tr><th scope="col">Time</th>${chart.lines.map((line) => html`<th scope="col" class="number" key=${line.label}>${line.label}</th>`)}</tr></thead>
      <tbody>
        ${rows.map(
          // A row is a place, the newest sample's first: what is in it changes, and no row moves.
          (index) => html`<tr key=${stop - index}>
            <td>${clock(ring.time(index))}${ring.isRestart(index) && " restart"}</td>
            ${chart.lines.map((line) => [line.label, chart.words(line.read(index))]).map(([label, words]) => html`<td class="number" key=${`${label} ${shapeOf(words)}`}>${words}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
