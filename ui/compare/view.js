// Compare: one prompt, and up to eight lanes that answer it side by side.

import { useEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { go, rename } from "../router.js";
import { askTheSame, valuesOf, varied } from "../state/asked.js";
import { open, runAll, shelf } from "../state/compare.js";
import { obstacleTo } from "../state/obstacle.js";
import { route } from "../state/session.js";
import { Bar } from "./bar.js";
import { LaneCard } from "./lane.js";
import { Marks } from "./marks.js";
import { Prompt } from "./prompt.js";
import { Strip } from "./strip.js";
import { Values } from "./values.js";
import { Vary } from "./vary.js";

const LETTERS = "ABCDEFGH";

export function CompareView() {
  const [dialog, setDialog] = useState(/** @type {string | null} */ (null));
  const marks = useMemo(() => new Marks(), []);
  const pages = useRef(/** @type {HTMLElement | null} */ (null));
  const series = open.value;
  const lanes = series.lanes.value;
  const id = route.value.path[0];
  useEffect(() => {
    shelf.start();
    return () => marks.close();
  }, []);
  useEffect(() => {
    shelf.show(id);
  }, [id]);
  useEffect(() => {
    document.title = `${series.title.value || "Compare"} · ignis`;
    // The address names what is open, once there is something to come back to.
    if (!id && series.hasAnswers.value) rename("compare", series.id);
  }, [series, series.hasAnswers.value, id]);
  const diffs = lanes.map((lane) => lane.isDiffShown.value).join();
  const states = lanes.map((lane) => lane.turn.value?.state.value).join();
  useEffect(() => marks.use(lanes), [lanes, diffs, states]);
  const problem = lanes.map((lane) => obstacleTo(valuesOf(series, lane))).find(Boolean) ?? "";
  const run = () => {
    if (series.hasPrompt.value && !series.isRunning.value && !problem) go("compare", runAll());
  };
  useEffect(() => {
    const escape = (/** @type {KeyboardEvent} */ event) => {
      const isInside = event.target instanceof HTMLElement && event.target.closest("dialog, [popover]");
      if (event.key === "Escape" && !isInside) series.stop();
    };
    document.addEventListener("keydown", escape);
    return () => document.removeEventListener("keydown", escape);
  }, [series]);
  const names = varied(series);
  const edited = lanes.find((lane) => lane.id === dialog);
  return html`<main class="compare">
    <${Bar} problem=${problem} onRun=${run} onVary=${() => setDialog("vary")} onValues=${() => setDialog("all")} />
    <div class="compare-body">
      <${Prompt} problem=${problem} onRun=${run} />
      <${Strip} lanes=${lanes} pages=${pages} />
      <div class="lanes" ref=${pages} data-count=${lanes.length}>
        ${lanes.map((lane, at) => {
          const twin = lanes.findIndex((other) => askTheSame(series, other, lane));
          return html`<${LaneCard} key=${lane.id} lane=${lane} letter=${LETTERS[at]} varied=${names} twin=${twin < at ? LETTERS[twin] : null} marks=${marks}
            onValues=${() => setDialog(lane.id)} />`;
        })}
      </div>
    </div>
    ${dialog === "vary" && html`<${Vary} onClose=${() => setDialog(null)} />`}
    ${dialog === "all" && html`<${Values} lane=${null} letter="" onClose=${() => setDialog(null)} />`}
    ${edited && html`<${Values} lane=${edited} letter=${LETTERS[lanes.indexOf(edited)]} onClose=${() => setDialog(null)} />`}
  </main>`;
}
