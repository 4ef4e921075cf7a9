// One lane: what it asks otherwise, its answer, its state and what it took.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { copy } from "../parts/copy.js";
import { html } from "../parts/html.js";
import { LaneEnding } from "../parts/lane-ending.js";
import { ELSEWHERE } from "../parts/lane-words.js";
import { Menu } from "../parts/menu.js";
import { useTicks } from "../parts/ticks.js";
import { go } from "../router.js";
import { Icon } from "../shell/icons.js";
import { Thoughts } from "../shell/thoughts.js";
import { isStale, valuesOf } from "../state/asked.js";
import { duplicate, open, removeLane, resume, runOne } from "../state/compare.js";
import { obstacleTo } from "../state/obstacle.js";
import { MAX_LANES } from "../state/slots.js";
import { toChat } from "../state/to-chat.js";
import { showAnswer } from "../text/live.js";
import { Foot } from "./foot.js";
import { inWords, shortened } from "./words.js";

/** @typedef {import("../state/lane.js").Lane} Lane */

// Who has scrolled so near to the end goes on with it. A lane begins at its top: texts are compared from there.
const END_PX = 48;
const KINDS = new Map([["seed", ""], ["reasoning_effort", "warn"], ["model", "good"], ["system", "warn"]]);

/**
 * @param {{lane: Lane, letter: string, varied: string[], twin: string | null, marks: import("./marks.js").Marks, onValues: () => void}} properties
 *   varied: names of what lanes differ in; twin: the lane that asks the very same
 */
export function LaneCard({ lane, letter, varied, twin, marks, onValues }) {
  const turn = lane.turn.value;
  const isRunning = lane.isRunning;
  const values = valuesOf(open.value, lane);
  return html`<section class="lane" id=${`lane-${letter}`} aria-label=${`Lane ${letter}`} aria-busy=${isRunning} data-state=${turn?.state.value ?? "NEW"}>
    <header>
      <h2><span class="letter" aria-hidden="true">${letter}</span><span class="reader">Lane ${letter}</span></h2>
      <div class="tags">
        ${varied.map((name) => html`<${Tag} key=${name} name=${name} values=${values} />`)}
        ${twin && html`<span class="tag">same as ${twin}</span>`}
      </div>
      <${LaneMenu} lane=${lane} letter=${letter} onValues=${onValues} />
    </header>
    <${Body} lane=${lane} letter=${letter} marks=${marks} />
    <${Foot} lane=${lane} letter=${letter} isStale=${!isRunning && isStale(open.value, lane)} />
  </section>`;
}

/** @param {{name: string, values: import("../state/asked.js").Values}} properties */
function Tag({ name, values }) {
  const { label, words } = inWords(name, values);
  return html`<span class=${`tag ${KINDS.get(name) ?? "info"}`} title=${`${label || name}: ${words}`}>${label} ${shortened(words)}</span>`;
}

/** @param {{lane: Lane, letter: string, marks: import("./marks.js").Marks}} properties */
function Body({ lane, letter, marks }) {
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const isFollowing = useRef(false);
  const turn = lane.turn.value;
  const state = turn?.state.value;
  useLayoutEffect(() => {
    if (!turn || !place.current) return;
    isFollowing.current = false;
    const toEnd = () => {
      if (isFollowing.current && turn.isRunning && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
    };
    const leave = [showAnswer(turn, place.current, toEnd), marks.put(lane, place.current)];
    return () => leave.forEach((each) => each());
  }, [turn, turn?.resumptions.value]);
  const look = (/** @type {any} */ { target }) => {
    isFollowing.current = target.scrollTop > 0 && target.scrollHeight - target.scrollTop - target.clientHeight < END_PX;
  };
  const isEmpty = !turn?.record.text && !turn?.record.reasoning;
  return html`<div class="lane-body" ref=${scroller} onScroll=${look} tabindex="0" role="region" aria-label=${`Answer of lane ${letter}`}>
    ${turn && html`<${Thoughts} turn=${turn} />`}
    ${isEmpty && html`<${Waiting} lane=${lane} />`}
    <div key=${turn?.id ?? ""} ref=${place} class=${turn?.isRunning && state === "WRITING" ? "running" : ""}></div>
    ${!turn?.isRunning && turn?.record.tools.map(({ name, arguments: words }) => html`<p class="about call"><code>${name} ${words}</code></p>`)}
    <${LaneEnding} lane=${lane} isElsewhere=${open.value.isElsewhere.value} onResume=${() => resume([lane])} />
  </div>`;
}

/** @param {{lane: Lane}} properties */
function Waiting({ lane }) {
  const { place, retryAt } = lane.turn.value?.queue.value ?? {};
  useTicks(retryAt);
  if (lane.isInLine.value) return html`<p class="waiting">Waits for the lanes before it.</p>`;
  const state = lane.turn.value?.state.value;
  if (retryAt) return html`<p class="waiting">The server is full: asks again in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s.</p>`;
  if (place) return html`<p class="waiting">Waits for a lane: ${place === 1 ? "one place" : `${place} places`} before it.</p>`;
  if (state === "READING") return html`<p class="waiting">Reading, or waiting for room<span class="caret"></span></p>`;
  if (state === "SENT" || state === "QUEUED") return html`<p class="waiting">Waiting<span class="caret"></span></p>`;
  if (state === "THINKING") return html`<p class="waiting">The answer starts when the thinking ends.<span class="caret"></span></p>`;
  return null;
}

/** @param {{lane: Lane, letter: string, onValues: () => void}} properties */
function LaneMenu({ lane, letter, onValues }) {
  const [said, setSaid] = useState("");
  const series = open.value;
  const turn = lane.turn.value;
  const hasText = Boolean(turn?.record.text);
  const hasAnswer = hasText || Boolean(turn?.record.tools.length);
  const isFirst = series.lanes.value[0] === lane;
  const take = async () => {
    setSaid((await copy(turn?.record.text ?? "")) ? "Copied" : "No access to the clipboard");
    setTimeout(() => setSaid(""), 1500);
  };
  const isRunning = lane.isRunning;
  const isElsewhere = series.isElsewhere.value;
  const problem = obstacleTo(valuesOf(series, lane)) || (isElsewhere ? ELSEWHERE : "");
  const items = [
    isRunning
      ? { label: "Stop", act: () => lane.stop() }
      : { label: turn ? "Run again" : "Run this lane", about: problem, act: () => runOne(lane), isDisabled: !series.hasPrompt.value || problem !== "" },
    { label: "Values…", act: onValues, isDisabled: isRunning || isElsewhere },
    { label: "Diff", about: isFirst ? "others against this" : "against A", act: () => (lane.isDiffShown.value = !lane.isDiffShown.value), isChecked: lane.isDiffShown.value, isDisabled: isFirst || !hasText },
    { label: "Open as chat", act: async () => go("chat", await toChat(series, lane)), isDisabled: !hasAnswer || isRunning },
    { label: "Copy the answer", act: take, isDisabled: !hasText },
    { label: "Another like it", act: () => duplicate(lane), isApart: true, isDisabled: isElsewhere || series.lanes.value.length >= MAX_LANES },
    { label: "Remove", act: () => removeLane(lane), isBad: true, isDisabled: isElsewhere || series.lanes.value.length < 2 },
  ];
  return html`<span class="said-copied" role="status">${said}</span>
    <${Menu} id=${`lane-menu-${letter}`} label=${`Lane ${letter}: more`} face=${html`<${Icon} name="more" />`} items=${items} />`;
}
