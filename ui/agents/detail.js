// One task whole: what it was told, what it thought, what it answered, and both raw.

import { useLayoutEffect, useRef } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { LaneEnding } from "../parts/lane-ending.js";
import { factsOf, stateOf } from "../parts/lane-words.js";
import { Icon } from "../shell/icons.js";
import { Thoughts } from "../shell/thoughts.js";
import { open, resume } from "../state/agents.js";
import { showAnswer } from "../text/live.js";

/** @param {{lane: import("../state/lane.js").Lane, number: number, onClose: () => void}} properties */
export function Detail({ lane, number, onClose }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const turn = lane.turn.value;
  turn?.state.value;
  const [kind, words] = stateOf(lane);
  const system = open.value.values.value.system;
  useLayoutEffect(() => {
    if (turn && place.current) return showAnswer(turn, place.current);
  }, [turn, turn?.resumptions.value]);
  const record = turn?.record;
  return html`<aside class="detail" aria-label=${`Task ${number}`}>
    <header class="head">
      <h2>Task ${number}</h2><span class=${`tag ${kind}`}>${words}</span>
      <button type="button" class="icon-button" aria-label="Close" title="Close" onClick=${onClose}><${Icon} name="close" /></button>
    </header>
    <div class="scroll" tabindex="0" role="region" aria-label="What the task said and got">
      ${system && html`<section><details><summary>System prompt of all tasks</summary><p class="said-by-all">${system}</p></details></section>`}
      <section><h3>Prompt</h3><p class="said" dir="auto">${lane.prompt.value}</p></section>
      <section aria-busy=${lane.isRunning}><h3>Answer</h3>
        ${turn && html`<${Thoughts} turn=${turn} />`}
        <div key=${turn?.id ?? ""} ref=${place} class=${turn?.isRunning ? "running" : ""}></div>
        ${!record?.text && !record?.failure && html`<p class="about">${lane.isRunning ? "Nothing yet." : turn ? "No text came." : "Not run yet."}</p>`}
        <${LaneEnding} lane=${lane} isElsewhere=${open.value.isElsewhere.value} onResume=${() => resume([lane])} />
      </section>
      ${record && !lane.isRunning && html`<section><h3>Figures</h3><dl>${factsOf(lane, record).map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></section>
        <section><details><summary>Raw</summary>
          <h3>Request</h3><pre tabindex="0">${JSON.stringify(record.request, null, 2)}</pre>
          <h3>Answer</h3><pre tabindex="0">${JSON.stringify({ model: record.model, text: record.text, reasoning: record.reasoning, finish: record.finish, usage: record.usage, timings: record.timings }, null, 2)}</pre>
        </details></section>`}
    </div>
  </aside>`;
}
