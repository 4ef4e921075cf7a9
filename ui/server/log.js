// The server's log as it is written: followed while at its end, by level and words, paused and copied.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { bytes, duration } from "../parts/format.js";
import { copy } from "../parts/copy.js";
import { html } from "../parts/html.js";
import { beginning, filter, follow, held, isWrapped, level, linesAfter, news, pause, textOf, timeOf, trouble } from "../state/log.js";
import { effect } from "../vendor/signals-core.js";

const MOST_SHOWN = 2000;
const NEAR_PX = 24;

export function Log() {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const [isAtEnd, setAtEnd] = useState(true);
  const [said, setSaid] = useState("Copy");
  useEffect(follow, []);
  useEffect(() => draw(/** @type {HTMLElement} */ (list.current)), []);
  const toEnd = () => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight;
  };
  const take = async () => {
    setSaid((await copy(linesAfter(-1, held.value).map(textOf).join("\n"))) ? "Copied" : "No access");
    setTimeout(() => setSaid("Copy"), 1500);
  };
  // It may come after the view is gone.
  const scrolled = () => list.current && setAtEnd(isNearEnd(list.current));
  return html`<section class="card log" aria-label="Log">
    <header>
      <h2>Log</h2>
      <span class="quiet" role="status">${trouble.value ? `no lines come: ${trouble.value}` : held.value ? "paused" : isAtEnd ? "following" : html`<button type="button" class="link" onClick=${toEnd}>to the end</button>`}</span>
    </header>
    <div class="tools">
      <label><span class="reader">Least level</span><select class="field" id="log-level" value=${level.value} onChange=${(/** @type {any} */ event) => (level.value = event.target.value)}>
        ${["debug", "info", "warning", "error"].map((name) => html`<option key=${name} value=${name} selected=${level.value === name}>${name}</option>`)}
      </select></label>
      <label class="grow"><span class="reader">Only lines with</span><input type="search" class="field" id="log-filter" placeholder="Only lines with…" value=${filter.value} onInput=${(/** @type {any} */ event) => (filter.value = event.target.value)} /></label>
      <label class="check"><input type="checkbox" checked=${isWrapped.value} onChange=${() => (isWrapped.value = !isWrapped.value)} />Wrap</label>
      <button type="button" class="button" id="log-pause" aria-pressed=${held.value !== null} onClick=${pause}>${held.value ? "Go on" : "Pause"}</button>
      <button type="button" class="button" onClick=${take}>${said}</button>
    </div>
    <div class=${`lines scroll ${isWrapped.value ? "wrapped" : ""}`} ref=${list} tabindex="0" role="log" aria-live="off" aria-label="Lines of the log" onScroll=${scrolled}></div>
  </section>`;
}

// --- Internal

/** Adds what is new, once a frame, where somebody can see it. @param {HTMLElement} place @returns {() => void} */
function draw(place) {
  let last = -1;
  /** Which beginning the lines are of. */
  let begun = beginning.peek();
  let frame = 0;
  let isFollowing = true;
  const scrolled = () => (isFollowing = isNearEnd(place));
  const toEnd = () => {
    if (isFollowing) place.scrollTop = place.scrollHeight;
  };
  // Its height is what the cards above leave: the end stays in sight.
  const sizes = new ResizeObserver(toEnd);
  sizes.observe(place);
  place.addEventListener("scroll", scrolled);
  const flush = () => {
    frame = 0;
    const lines = linesAfter(last, held.value);
    if (!lines.length) return;
    place.append(...lines.slice(-MOST_SHOWN).map(row));
    last = /** @type {import("../api/log.js").LogLine} */ (lines.at(-1)).number;
    while (place.childElementCount > MOST_SHOWN) place.firstElementChild?.remove();
    toEnd();
  };
  const ask = () => {
    // A hidden page has no frames: it catches up when it is shown again.
    if (!frame) frame = requestAnimationFrame(flush);
  };
  const begin = () => {
    last = -1;
    begun = beginning.peek();
    place.replaceChildren();
    ask();
  };
  const ends = [
    effect(() => {
      news.value;
      // What is stopped stays, though the server is another one by now.
      if (!held.value && begun !== beginning.value) begin();
      ask();
    }),
    effect(() => {
      level.value;
      filter.value;
      begin();
    }),
  ];
  return () => {
    cancelAnimationFrame(frame);
    sizes.disconnect();
    place.removeEventListener("scroll", scrolled);
    for (const end of ends) end();
  };
}

/** @param {HTMLElement} place */
function isNearEnd({ scrollHeight, scrollTop, clientHeight }) {
  return scrollHeight - scrollTop - clientHeight < NEAR_PX;
}

/** @param {import("../api/log.js").LogLine} line */
function row(line) {
  const element = document.createElement("div");
  element.className = `line ${line.level}`;
  const time = document.createElement("time");
  time.textContent = timeOf(line);
  const event = document.createElement("b");
  event.textContent = `${line.level === "info" ? "" : `${line.level} `}${line.event.replace(/^ignis\./, "")}`;
  element.append(time, " ", event, " ", wordsOf(line.fields));
  return element;
}

/** @param {Record<string, any>} fields */
function wordsOf(fields) {
  // What tells lines of one request from others is of use to whoever looks for it, at the end.
  const { from, to, id, request_id: request, sequence, ...rest } = fields;
  const words = [];
  if (to !== undefined) words.push(from === undefined ? `${to}` : `${from} → ${to}`);
  if (id !== undefined) words.push(`${id}`);
  for (const [name, value] of Object.entries(rest)) words.push(wordOf(name, value));
  if (sequence !== undefined) words.push(wordOf("sequence", sequence));
  if (request !== undefined) words.push(`${request}`);
  return words.join(", ");
}

/** @param {string} name @param {any} value */
function wordOf(name, value) {
  const [, what, unit] = /^(.+)_(bytes|ms)$/.exec(name) ?? [];
  if (typeof value === "number" && unit) return `${what.replaceAll("_", " ")} ${unit === "ms" ? duration(value / 1000) : bytes(value)}`;
  const text = typeof value === "object" ? JSON.stringify(value) : typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : value;
  return `${name.replaceAll("_", " ")} ${text}`;
}
