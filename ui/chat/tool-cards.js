// The calls of tools in an answer, a card each: the name, the arguments as they are written, the state, the result or where to give it.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { readPartial } from "../parts/partial-json.js";
import { Tree, isTooDeep } from "../parts/tree.js";
import { Icon } from "../shell/icons.js";
import { flawIn, isWhole, nameOf } from "../state/content.js";
import { isOurs } from "../state/own.js";
import { draftOf, keepDraft } from "../state/place.js";
import { enter, keyOf, leave, running } from "../state/running.js";
import { sending } from "../state/session.js";
import { carryOn, giveResult } from "../state/talk.js";
import { below, turns } from "../state/tree.js";
import { follow } from "../text/frame.js";

const FOLDED_LINES = 3;
const FOLDED_LENGTH = 300;

/** @typedef {import("../store/turns.js").ToolCall} ToolCall */

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function ToolCards({ turn }) {
  const [, setLength] = useState(0);
  turn.results.value;
  const state = turn.state.value;
  // Arguments grow without a signal, as all text of a turn does.
  useEffect(() => {
    if (!turn.isRunning) return;
    return follow({
      draw: () => {
        setLength(turn.record.tools.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0));
        return turn.isRunning;
      },
    });
  }, [turn, turn.isRunning]);
  const { tools, finish } = turn.record;
  const canGoOn = !turn.isRunning && tools.some(({ result }) => result !== undefined) && tools.every((call) => call.result !== undefined || !isWhole(call)) && !below(turns.value, turn.id).length;
  return html`${tools.map((call, index) => html`<${ToolCard} key=${index} turn=${turn} index=${index} call=${{ ...call }} isWritten=${!turn.isRunning || index < tools.length - 1} isCut=${state !== "DONE" || finish === "length"} />`)}
    ${canGoOn && html`<p class="ending"><button type="button" class="link carry-on" onClick=${() => sending(() => carryOn(turn))}>Go on with ${tools.length === 1 ? "this result" : "these results"}</button></p>`}`;
}

/** @param {{turn: import("../state/turn.js").Turn, index: number, call: ToolCall, isWritten: boolean, isCut: boolean}} properties call: as it is by now; isCut: the answer ended before its end */
function ToolCard({ turn, index, call, isWritten, isCut }) {
  const [isRaw, setRaw] = useState(false);
  const key = keyOf(turn, index);
  const isOpen = !turn.isRunning && call.result === undefined;
  const flaw = isWritten && call.result === undefined ? flawIn(call) : "";
  const [series, isSought] = useList(turn, index, isOpen);
  const { value } = readPartial(call.arguments || "{}");
  // What no tree shows is shown as it was written.
  const isTree = value !== undefined && !isRaw && !isTooDeep(value);
  const state = flaw ? (isCut ? "cut off" : "malformed") : call.result !== undefined ? "answered" : isWritten ? "called" : "being written";
  const isGiven = isOpen && !isSought && !(flaw && isCut) && ![key, turn.id].some((each) => running.value.has(each)) && !series?.isRunning.value;
  const give = (/** @type {string} */ result) => sending(() => giveResult(turn, index, result));
  const act = async () => (await import("../state/own-tools.js")).doCall(turn, index);
  const [doing, onDo] = flaw ? ["Send the error", () => give(flaw)] : isOurs(turn.record, call.name) ? [series ? "Go on" : "Do it", act] : ["", null];
  return html`<section class="tool-card" aria-label=${`Call of ${nameOf(call)}`}>
    <header><${Icon} name="tool" /><strong>${nameOf(call)}</strong><span class=${`tag ${flaw ? "warn" : ""}`}>${state}</span>
      <button type="button" class="link" aria-pressed=${isRaw} onClick=${() => setRaw(!isRaw)}>Raw</button></header>
    ${isTree ? html`<${Tree} value=${value} />` : html`<pre tabindex="0" role="region" aria-label="Arguments">${call.arguments}</pre>`}
    ${flaw && !isCut && html`<p class="problem">${flaw}</p>`}
    ${call.result !== undefined && html`<${Result} text=${call.result} />`}
    ${series && html`<${Tasks} series=${series} />`}
    ${isGiven && html`<${Give} name=${nameOf(call)} draft=${key} doing=${doing} isSought=${turn.isSought.value} onDo=${onDo} onGive=${give} />`}
  </section>`;
}

/**
 * The list of tasks that a call made, as it runs here or in another tab, or as it was kept; and whether it is still looked for.
 * @param {import("../state/turn.js").Turn} turn @param {number} index @param {boolean} isOpen whether the call waits for its result
 * @returns {[import("../state/series.js").Series | undefined, boolean]}
 */
function useList(turn, index, isOpen) {
  const [kept, setKept] = useState(/** @type {{id: string, series?: import("../state/series.js").Series}} */ ({ id: "" }));
  const key = keyOf(turn, index);
  const run = running.value.get(key);
  const list = (isOpen && turn.record.tools[index].list) || "";
  const found = list === kept.id ? kept.series : undefined;
  const wanted = run ? "" : list;
  const isElsewhere = found?.isElsewhere.value;
  useEffect(() => {
    if (wanted) import("../state/agents.js").then(async ({ shelf }) => setKept({ id: list, series: await shelf.find(list) }));
  }, [wanted]);
  useEffect(() => {
    if (!isElsewhere || !found) return;
    // Here too it is what answers.
    enter({ turn, series: found, stop: () => found.stop() }, key);
    return () => leave(key);
  }, [isElsewhere]);
  return [run?.series ?? found, !run && list !== kept.id];
}

/** What became of a list of tasks. @param {{series: import("../state/series.js").Series}} properties */
function Tasks({ series }) {
  const lanes = series.lanes.value;
  const numDone = lanes.filter((lane) => lane.turn.value?.state.value === "DONE").length;
  const isRunning = series.isRunning.value;
  const rest = isRunning || numDone === lanes.length ? "" : `, ${lanes.length - numDone} can go on`;
  return html`<p class="result about tasks"><span role="status">${numDone} of ${lanes.length} tasks done${rest}</span>
    <a class="link" href=${`#/agents/${series.id}`}>Open</a> ${isRunning && html`<button type="button" class="link" onClick=${() => series.stop()}>Stop</button>`}</p>`;
}

/** Where a person writes what the tool came to. @param {{name: string, draft: string, doing: string, isSought: boolean, onDo: (() => void) | null, onGive: (result: string) => void}} properties */
function Give({ name, draft, doing, isSought, onDo, onGive }) {
  const [text, setText] = useState("");
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => {
    draftOf(draft).then((begun) => setText((typed) => typed || begun));
  }, [draft]);
  const type = (/** @type {string} */ typed) => {
    setText(typed);
    keepDraft(draft, typed);
  };
  const isEmpty = !text.trim();
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    // What was typed last may not be drawn yet.
    const written = area.current?.value ?? "";
    if (!written.trim()) return;
    keepDraft(draft, "");
    onGive(written);
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return html`<form class="result give" onSubmit=${submit}>
    <textarea class="field code" rows="2" ref=${area} aria-label=${`Result of ${name}`} placeholder="What this call comes to" value=${text} onKeyDown=${press} onInput=${(/** @type {any} */ event) => type(event.target.value)}></textarea>
    <div class="actions">${isEmpty && html`<button type="button" class="link" title="An empty result" onClick=${() => onGive("")}>Give nothing</button>`}
      ${onDo && html`<button type="button" class="button do" style=${{ visibility: isSought ? "hidden" : "visible" }} onClick=${onDo}>${doing}</button>`}<button type="submit" class="button" disabled=${isEmpty}>Give the result</button></div>
  </form>`;
}

/** Folded to its first lines. @param {{text: string}} properties */
function Result({ text }) {
  const [isOpen, setOpen] = useState(false);
  const lines = text.split("\n");
  const folded = lines.slice(0, FOLDED_LINES).join("\n").slice(0, FOLDED_LENGTH);
  const isLong = folded.length < text.length;
  return html`<div class="result"><pre tabindex="0" role="region" aria-label="Result" dir="auto">${isOpen || !isLong ? text : `${folded} …`}</pre>
    ${isLong && html`<button type="button" class="link more" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "Less" : `All ${lines.length} ${lines.length === 1 ? "line" : "lines"}`}</button>`}
  </div>`;
}
