// One answer: reasoning, text, tool calls, how it ended, what it took.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { copy } from "../parts/copy.js";
import { go } from "../router.js";
import { Icon } from "../shell/icons.js";
import { branch } from "../state/chats.js";
import { again } from "../state/talk.js";
import { path } from "../state/tree.js";
import { AnswerText } from "../text/sheet.js";
import { Branches } from "./branches.js";
import { follow } from "./frame.js";
import { Readout } from "./readout.js";
import { Reasoning } from "./reasoning.js";
import { ToolCard } from "./tool-card.js";

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function AnswerTurn({ turn }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const state = turn.state.value;
  useLayoutEffect(() => {
    const text = new AnswerText();
    place.current?.replaceChildren(text.element);
    const draw = () => {
      text.show(turn.record.text);
      if (turn.isRunning) return true;
      text.end();
      return false;
    };
    // What is whole is drawn at once, without a frame in which it is missing.
    return draw() ? follow({ draw }) : undefined;
  }, [turn]);
  return html`<article class=${`turn answer ${turn.isRunning ? "running" : ""}`} aria-busy=${turn.isRunning} data-state=${state}>
    <h3 class="reader">Answer</h3>
    <${Reasoning} turn=${turn} />
    ${(state === "SENT" || state === "READING") && html`<p class="waiting">${state === "SENT" ? "Waiting" : "Reading"}<span class="caret"></span></p>`}
    <div ref=${place}></div>
    ${turn.record.tools.map((call, index) => html`<${ToolCard} key=${index} call=${call} />`)}
    <${Ending} turn=${turn} />
    ${!turn.isRunning && html`<${Foot} turn=${turn} />`}
  </article>`;
}

/** @param {{turn: import("../state/turn.js").Turn}} properties */
function Ending({ turn }) {
  const { failure, finish, usage, text } = turn.record;
  const state = turn.state.value;
  const count = usage ? `${usage.completion_tokens} tokens` : `${text.length} characters`;
  if (state === "FAILED") return html`<p class="ending bad" role="alert">${failure}</p>`;
  if (state === "CUT") return html`<p class="ending warn">Cut off after ${count}${failure ? `: ${failure}` : ""}</p>`;
  if (state === "STOPPED") return html`<p class="ending">Stopped by you after ${count}</p>`;
  if (finish === "length") return html`<p class="ending">Reached the limit of ${count}</p>`;
  return null;
}

/** @param {{turn: import("../state/turn.js").Turn}} properties */
function Foot({ turn }) {
  const [said, setSaid] = useState("");
  const { record } = turn;
  const take = async () => {
    setSaid((await copy(record.text)) ? "Copied" : "No access");
    setTimeout(() => setSaid(""), 1500);
  };
  const fork = async () => go("chat", await branch(path.value.slice(0, path.value.indexOf(turn) + 1)));
  return html`<footer>
    <${Branches} turn=${turn} />
    <${Readout} turn=${turn} />
    <span class="turn-actions">
      <span class="said-copied" role="status">${said}</span>
      <button type="button" class="icon-button" aria-label="Copy answer" title="Copy" onClick=${take}><${Icon} name="copy" /></button>
      <button type="button" class="icon-button again" aria-label="Regenerate" title="Another answer, new seed" onClick=${() => again(turn)}><${Icon} name="again" /></button>
      ${record.seed !== null && html`<button type="button" class="icon-button same" aria-label="Same again" title="The same request with the same seed" onClick=${() => again(turn, record.seed ?? 0)}><${Icon} name="same" /></button>`}
      <button type="button" class="icon-button fork" aria-label="Branch into a new chat" title="Branch into a new chat" onClick=${fork}><${Icon} name="branch" /></button>
    </span>
  </footer>`;
}
