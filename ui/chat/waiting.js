// What an answer waits for while nothing of it is there: a lane, a model, the reading of the prompt.

import { useEffect } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { useTicks } from "../parts/ticks.js";
import { course, loaded, models, status, watch } from "../state/server.js";
import { isConnected } from "../state/session.js";

const TICK_MS = 500;
const LOOK_MS = 700;

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Waiting({ turn }) {
  const state = turn.state.value;
  const isWaiting = ["SENT", "QUEUED", "READING"].includes(state) && !turn.record.text && !turn.record.reasoning;
  useTicks(isWaiting, TICK_MS);
  useEffect(() => {
    if (state !== "SENT") return;
    // A request that is held is held for a model: that one is looked for.
    const timer = setTimeout(watch, LOOK_MS);
    return () => clearTimeout(timer);
  }, [state]);
  if (!isWaiting) return null;
  const seconds = Math.floor((performance.timeOrigin + performance.now() - turn.record.times.sent) / 1000);
  return html`<p class="waiting">${words(turn, state)}<span class="caret"></span>${seconds > 0 && html`<span class="about">${seconds} s</span>`}</p>`;
}

/** @param {import("../state/turn.js").Turn} turn @param {string} state */
function words(turn, state) {
  if (state === "READING") return "Reading";
  const { place, retryAt } = turn.queue.value ?? {};
  if (state === "QUEUED") {
    const again = retryAt ? `, asked for again in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s` : "";
    return `Waits for a lane${place ? `, place ${place}` : ""}${again}`;
  }
  return isConnected.value ? (held(turn.record.request?.model) ?? "Waiting") : "Sent when the server is back";
}

/** What the model is doing that the request is held for. @param {string | undefined} wanted the one that it names */
function held(wanted) {
  const { switching, loading, last_switch: last } = course.value;
  const share = loading?.total_bytes ? ` ${Math.round((100 * loading.done_bytes) / loading.total_bytes)} %` : "";
  if (switching) {
    const ms = last ? (last.drain_ms ?? 0) + (last.teardown_ms ?? 0) + (last.load_ms ?? 0) + (last.warm_up_ms ?? 0) : 0;
    return `Switching to ${switching.to}${share}${ms ? `, last time ${(ms / 1000).toFixed(1)} s` : ""}`;
  }
  if (status.value === "loading") return `Loading the model${share}`;
  // Until the server goes over to it.
  if (wanted && loaded.value && loaded.value.id !== wanted) return `Waits for ${wanted}`;
  if (status.value !== "unloaded") return null;
  const estimate = (models.value.find(({ id }) => id === wanted) ?? models.value[0])?.load_estimate_seconds;
  return `Waking the model${estimate ? `, about ${Math.ceil(estimate)} s` : ""}`;
}
