// Agents: a list of tasks that run beside each other, what each took, and the open one whole.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { rename, go } from "../router.js";
import { Earlier } from "../shell/earlier.js";
import { Icon } from "../shell/icons.js";
import { ModelChip } from "../shell/model-chip.js";
import { open, runAgain, shelf } from "../state/agents.js";
import { obstacleTo } from "../state/obstacle.js";
import { route } from "../state/session.js";
import { Detail } from "./detail.js";
import { Form } from "./form.js";
import { Table } from "./table.js";
import { Totals } from "./totals.js";

export function AgentsView() {
  const [chosen, choose] = useState(/** @type {string | null} */ (null));
  const series = open.value;
  const lanes = series.lanes.value;
  const id = route.value.path[0];
  useEffect(() => {
    shelf.start();
  }, []);
  useEffect(() => {
    shelf.show(id);
  }, [id]);
  useEffect(() => {
    document.title = `${series.title.value || "Agents"} · ignis`;
    if (!id && series.hasAnswers.value) rename("agents", series.id);
  }, [series, series.title.value, series.hasAnswers.value, id]);
  const isRunning = series.isRunning.value;
  const shown = lanes.find((lane) => lane.id === chosen) ?? null;
  useEffect(() => {
    const escape = (/** @type {KeyboardEvent} */ event) => {
      const isInside = event.target instanceof HTMLElement && event.target.closest("dialog, [popover]");
      if (event.key !== "Escape" || isInside) return;
      if (series.isRunning.value) series.stop();
      else choose(null);
    };
    document.addEventListener("keydown", escape);
    return () => document.removeEventListener("keydown", escape);
  }, [series]);
  const startNew = () => (shelf.startNew(), choose(null), go("agents"), document.getElementById("prompt")?.focus());
  const isAllDone = lanes.length > 0 && !obstacleTo(series.values.value) && lanes.every((lane) => lane.turn.value && !lane.isRunning);
  return html`<div class=${`agents ${shown ? "with-detail" : ""}`}>
    <main class="tasks">
      <header class="bar">
        <${Earlier} label="Earlier lists" shelf=${shelf} place="agents" unit="tasks" />
        <h1 tabindex="-1">${series.title.value || "Agents"}</h1>
        <${ModelChip} />
        <div class="rest"></div>
        <button type="button" class="button wide" id="run-again" disabled=${!isAllDone} title="The same tasks with the same seeds, as a list of their own" onClick=${() => go("agents", runAgain())}>
          <${Icon} name="same" />Same again</button>
        <button type="button" class="icon-button" id="new" aria-label="New list" title="New list" onClick=${startNew}><${Icon} name="edit" /></button>
        <button type="button" class="button" id="stop-all" disabled=${!isRunning} title="Stop all (Esc)" onClick=${() => series.stop()}><${Icon} name="stop" />Stop all</button>
      </header>
      <div class="tasks-body">
        <${Form} />
        <${Table} lanes=${lanes} chosen=${chosen} onChoose=${choose} />
      </div>
      <${Totals} />
    </main>
    ${shown && html`<${Detail} key=${shown.id} lane=${shown} number=${lanes.indexOf(shown) + 1} onClose=${() => choose(null)} />`}
  </div>`;
}
