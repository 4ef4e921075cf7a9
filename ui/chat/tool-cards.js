// The calls of tools in an answer, a card each: the name, the arguments as they are written, the state, the result.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { readPartial } from "../parts/partial-json.js";
import { Tree, isTooDeep } from "../parts/tree.js";
import { Icon } from "../shell/icons.js";
import { follow } from "../text/frame.js";

const FOLDED_LINES = 3;
const FOLDED_LENGTH = 300;

/** @typedef {import("../store/turns.js").ToolCall} ToolCall */

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function ToolCards({ turn }) {
  const [, setLength] = useState(0);
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
  const last = turn.record.tools.length - 1;
  return turn.record.tools.map((call, index) => html`<${ToolCard} key=${index} call=${call} isWritten=${!turn.isRunning || index < last} state=${state} />`);
}

/** @param {{call: ToolCall, isWritten: boolean}} properties */
function ToolCard({ call, isWritten }) {
  const [isRaw, setRaw] = useState(false);
  const { value } = readPartial(call.arguments || "{}");
  // What no tree shows is shown as it was written.
  const isTree = value !== undefined && !isRaw && !isTooDeep(value);
  const state = call.result !== undefined ? "answered" : isWritten ? "called" : "being written";
  return html`<section class="tool-card" aria-label=${`Call of ${call.name || "a tool"}`}>
    <header><${Icon} name="tool" /><strong>${call.name || "tool"}</strong><span class="tag">${state}</span>
      <button type="button" class="link" aria-pressed=${isRaw} onClick=${() => setRaw(!isRaw)}>Raw</button></header>
    ${isTree ? html`<${Tree} value=${value} />` : html`<pre tabindex="0" role="region" aria-label="Arguments">${call.arguments}</pre>`}
    ${call.result !== undefined && html`<${Result} text=${call.result} />`}
  </section>`;
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
