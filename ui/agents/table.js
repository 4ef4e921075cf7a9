// The tasks, a row each: state, times and counts, and stopping one.

import { html } from "../parts/html.js";
import { ELSEWHERE, liveRate, seconds, stateOf } from "../parts/lane-words.js";
import { useTicks } from "../parts/ticks.js";
import { Icon } from "../shell/icons.js";
import { open, remove, resume, runOne } from "../state/agents.js";
import { obstacleTo, obstacleToResuming } from "../state/obstacle.js";
import { clock, rateOf } from "../state/turn.js";

/** @typedef {import("../state/lane.js").Lane} Lane */

const PREVIEW_LENGTH = 160;

/** @param {{lanes: Lane[], chosen: string | null, onChoose: (id: string) => void}} properties */
export function Table({ lanes, chosen, onChoose }) {
  if (!lanes.length) return null;
  const move = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    const all = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll("button.name")];
    const at = all.indexOf(/** @type {Element} */ (document.activeElement));
    if (!by || at < 0) return;
    event.preventDefault();
    /** @type {HTMLElement | undefined} */ (all[at + by])?.focus();
  };
  return html`<div class="table-scroll"><table class="task-table" onKeyDown=${move}>
    <caption class="reader">Tasks</caption>
    <thead><tr><th scope="col">Task</th><th scope="col">State</th><th scope="col">Waited</th><th scope="col">Read (cached)</th><th scope="col">Wrote</th><th scope="col">tok/s</th><th scope="col">Time</th>
      <th scope="col"><span class="reader">Actions</span></th></tr></thead>
    <tbody>${lanes.map((lane, at) => html`<${Row} key=${lane.id} lane=${lane} number=${at + 1} isChosen=${lane.id === chosen} onChoose=${onChoose} />`)}</tbody>
  </table></div>`;
}

/** @param {{lane: Lane, number: number, isChosen: boolean, onChoose: (id: string) => void}} properties */
function Row({ lane, number, isChosen, onChoose }) {
  const { isRunning } = lane;
  useTicks(isRunning);
  const turn = lane.turn.value;
  const record = turn?.record;
  const [kind, words] = stateOf(lane);
  const { usage, timings, times } = record ?? {};
  const rate = (record && rateOf(record)) ?? liveRate(lane);
  const end = isRunning ? clock() : (times?.last ?? null);
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const name = lane.prompt.value.split("\n", 1)[0];
  const isElsewhere = open.value.isElsewhere.value;
  const problem = obstacleTo(open.value.values.value) || (isElsewhere ? ELSEWHERE : "");
  const hold = obstacleToResuming(lane) || (isElsewhere ? ELSEWHERE : "");
  return html`<tr class=${isChosen ? "chosen" : ""} data-state=${turn?.state.value ?? "NEW"} onClick=${() => onChoose(lane.id)}>
    <th scope="row"><button type="button" class="name" aria-expanded=${isChosen} title=${lane.prompt.value}><span class="number">${number}</span><span class="words">${name}</span><span class="preview">${(record?.text ?? "").slice(0, PREVIEW_LENGTH)}</span></button></th>
    <td data-label="State"><span class=${`tag ${kind}`}>${words}</span><span class="about wait">${waitOf(lane)}</span></td>
    <td data-label="Waited">${timings ? seconds(timings.queued_ms) : ""}</td>
    <td data-label="Read (cached)">${usage && html`${usage.prompt_tokens.toLocaleString("en")} <span class="about">(${cached.toLocaleString("en")})</span>`}</td>
    <td data-label="Wrote">${(usage?.completion_tokens ?? lane.numPieces) || ""}</td>
    <td data-label="tok/s">${rate ? rate.toFixed(rate < 10 ? 1 : 0) : ""}</td>
    <td data-label="Time">${times && end ? seconds(Math.max(0, end - times.sent)) : ""}</td>
    <td class="row-actions">${isRunning
      ? html`<button type="button" class="icon-button" key="stop" aria-label=${`Stop task ${number}`} title="Stop" onClick=${act(() => lane.stop())}><${Icon} name="stop" /></button>`
      : html`${lane.canResume && html`<button type="button" class="icon-button" key="resume" aria-label=${`Resume task ${number} exactly`} title=${hold || "Resume exactly"} disabled=${hold !== ""} onClick=${act(() => resume([lane]))}><${Icon} name="play" /></button>`}
          <button type="button" class="icon-button" key="again" aria-label=${`Run task ${number}`} title=${problem || (turn ? "Run again" : "Run")} disabled=${problem !== ""} onClick=${act(() => runOne(lane))}><${Icon} name="again" /></button>
          <button type="button" class="icon-button" key="remove" aria-label=${`Remove task ${number}`} title=${isElsewhere ? ELSEWHERE : "Remove"} disabled=${isElsewhere} onClick=${act(() => remove(lane))}><${Icon} name="bin" /></button>`}
    </td>
  </tr>`;
}

/** What it waits for, where that is known. @param {Lane} lane */
function waitOf(lane) {
  const { place, retryAt } = lane.turn.value?.queue.value ?? {};
  if (retryAt) return `full, again in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s`;
  return place ? `place ${place}` : "";
}

/** A button in a row does its own thing, and does not open the row. @param {() => void} work */
function act(work) {
  return (/** @type {Event} */ event) => {
    event.stopPropagation();
    work();
  };
}
