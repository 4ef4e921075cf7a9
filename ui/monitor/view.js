// The monitor: what the server does, now and in the time before.

import { useEffect } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { clock as time, span } from "../parts/format.js";
import { Fence } from "../shell/fence.js";
import { Icon } from "../shell/icons.js";
import { ModelChip } from "../shell/model-chip.js";
import { chosen, collect, minutes, pause, pausedAt, ring, show, shown, taken, trouble } from "../state/samples.js";
import { Charts } from "./charts.js";
import { Figures } from "./figures.js";
import { Memory } from "./memory.js";
import { Others } from "./others.js";
import { Spread } from "./spread.js";
import { Switches } from "./switches.js";

const SPANS = /** @type {const} */ ([[5, "5 min"], [15, "15 min"], [60, "1 h"]]);

export function MonitorView() {
  useEffect(() => {
    document.title = "Monitor · ignis";
    collect();
  }, []);
  return html`<main class="monitor">
    <header class="bar">
      <h1 tabindex="-1">Monitor</h1>
      <${ModelChip} />
      <${UpTime} />
      <div class="rest"></div>
      <${Shown} />
      <${Spans} />
      <button type="button" class="button pause" aria-pressed=${pausedAt.value !== null} onClick=${pause}>
        <${Icon} name=${pausedAt.value === null ? "pause" : "play"} /><span>${pausedAt.value === null ? "Pause" : "Go on"}</span>
      </button>
    </header>
    <${Body} />
    <p id="chart-keys" class="reader">Left and right move a cursor over all charts, Space stops and starts them, Escape leaves a chosen time.</p>
  </main>`;
}

function Body() {
  if (trouble.value === "off") return html`<${Off} />`;
  return html`<div class="board" tabindex="-1">
    <${Fence}><${Figures} /><//>
    <${Fence}><${Charts} of="first" /><//>
    <div class="pair"><${Fence}><${Memory} /><//><${Fence}><${Spread} /><//></div>
    <div class="pair turned"><${Fence}><${Charts} of="pages" /><//><${Fence}><${Switches} /><//></div>
    <${Fence}><${Charts} of="rest" /><//>
    <${Fence}><${Others} /><//>
  </div>`;
}

function Off() {
  return html`<div class="off">
    <h2>This server keeps no metrics</h2>
    <p><a href="#/server/config/server.metrics">server.metrics</a> turns them on. The page looks again each half minute.</p>
  </div>`;
}

function UpTime() {
  taken.value;
  const started = ring.at("ignis_process_start_seconds", ring.last);
  return html`<span class="quiet up">${started > 0 && `up ${span(Date.now() / 1000 - started)}`}</span>`;
}

function Shown() {
  const { from, to } = shown.value;
  if (chosen.value) {
    return html`<span class="quiet shown">${time(from)} to ${time(to)}</span>
      <button type="button" class="link" onClick=${() => show(minutes.value)}>Show all</button>`;
  }
  if (trouble.value) return html`<span key="bad" class="shown bad" role="status">the last sample did not come: ${trouble.value}</span>`;
  return html`<span class="quiet shown">${pausedAt.value === null ? "every 2 s" : `paused at ${time(to)}`}</span>`;
}

function Spans() {
  return html`<fieldset class="segments spans">
    <legend class="reader">Time shown</legend>
    ${SPANS.map(
      ([count, label]) => html`<label key=${count}>
        <input type="radio" name="span" checked=${minutes.value === count && !chosen.value} onChange=${() => show(count)} onClick=${() => show(count)} />${label}
      </label>`,
    )}
  </fieldset>`;
}
