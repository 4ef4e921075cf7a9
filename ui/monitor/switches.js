// The last switches from model to model, with what each of their parts took.

import { clock, count, duration } from "../parts/format.js";
import { html } from "../parts/html.js";
import { ring, shown } from "../state/samples.js";
import { switches } from "../state/server.js";

const OUTCOMES = { refused: "refused", returned: "came back", failed: "failed", called_off: "called off" };

export function Switches() {
  const last = shown.value.stop - 1;
  const done = ring.at('ignis_model_switches_total{outcome="switched"}', last);
  return html`<section class="card switches" aria-label="Switches">
    <header><h2>Switches and loads</h2><span class="quiet">${Number.isFinite(done) ? `${count(done)} ${done === 1 ? "switch" : "switches"} since start` : ""}</span></header>
    ${switches.value.length
      ? html`<div class="scroll" tabindex="0" role="region" aria-label="The last switches"><table>
          <thead><tr>${["When", "From", "To", "Unload", "Load", "Warm-up", "Waited for it"].map((name) => html`<th scope="col" key=${name}>${name}</th>`)}</tr></thead>
          <tbody>${switches.value.map((each) => html`<${Row} key=${`${each.at} ${each.from} ${each.to}`} each=${each} />`)}</tbody>
        </table></div>`
      : html`<p class="quiet empty">None yet. A request that names another model on this disk switches to it.</p>`}
  </section>`;
}

/** @param {{each: import("../api/models.js").Switch}} properties */
function Row({ each }) {
  const ms = (/** @type {number | undefined} */ value) => (value === undefined ? "–" : duration(value / 1000));
  const outcome = OUTCOMES[/** @type {keyof typeof OUTCOMES} */ (each.outcome)];
  return html`<tr>
    <td data-label="When">${clock(each.at)}</td>
    <td data-label="From">${each.from ?? html`<span class="quiet">none loaded</span>`}</td>
    <td data-label="To">${each.to ?? html`<span class="quiet">none${each.reason && `, ${each.reason}`}</span>`}${outcome && html` <span class="tag bad" title=${each.reason ?? ""}>${outcome}</span>`}</td>
    <td data-label="Unload">${ms(each.teardown_ms)}</td>
    <td data-label="Load">${ms(each.load_ms)}</td>
    <td data-label="Warm-up">${ms(each.warm_up_ms)}</td>
    <td data-label="Waited">${each.waited ? `${count(each.waited)} ${each.waited === 1 ? "request" : "requests"}` : "–"}</td>
  </tr>`;
}
