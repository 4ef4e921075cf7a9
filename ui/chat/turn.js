// One answer: reasoning, text, tool calls, how it ended, what it took.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { copy } from "../parts/copy.js";
import { go } from "../router.js";
import { Icon } from "../shell/icons.js";
import { branch } from "../state/chats.js";
import { again, resume } from "../state/talk.js";
import { path } from "../state/tree.js";
import { Branches } from "./branches.js";
import { follow } from "../text/frame.js";
import { Readout } from "./readout.js";
import { Reasoning } from "./reasoning.js";
import { ToolCard } from "./tool-card.js";

/** @type {Promise<typeof import("../text/sheet.js")> | null} */
let text = null;

/** What draws text comes with the first answer, and not with the page. */
function loadText() {
  return (text ??= import("../text/sheet.js"));
}

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function AnswerTurn({ turn }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const state = turn.state.value;
  useLayoutEffect(() => {
    let isShown = true;
    let leave = () => {};
    loadText().then(({ AnswerText }) => {
      if (!isShown) return;
      const view = new AnswerText();
      // Whole before it is shown, so that no frame lacks it; the frame loop then also keeps the reader's place.
      draw(turn, view);
      place.current?.replaceChildren(view.element);
      leave = follow({ draw: () => draw(turn, view) });
    });
    return () => {
      isShown = false;
      leave();
    };
  }, [turn, turn.resumptions.value]);
  return html`<article class=${`turn answer ${turn.isRunning ? "running" : ""}`} aria-busy=${turn.isRunning} data-state=${state}>
    <h2 class="reader">Answer</h2>
    <${Reasoning} turn=${turn} />
    ${(state === "SENT" || state === "READING") && !turn.record.text && html`<p class="waiting">${state === "SENT" ? "Waiting" : "Reading"}<span class="caret"></span></p>`}
    <div ref=${place}></div>
    ${turn.record.tools.map((call, index) => html`<${ToolCard} key=${index} call=${call} />`)}
    <${Ending} turn=${turn} />
    ${!turn.isRunning && html`<${Foot} turn=${turn} />`}
  </article>`;
}

/**
 * Brings the view to what the turn has. Returns whether more may come.
 * @param {import("../state/turn.js").Turn} turn @param {import("../text/sheet.js").AnswerText} view
 */
function draw(turn, view) {
  view.show(turn.record.text);
  if (turn.isRunning) return true;
  view.end();
  return false;
}

/** @param {{turn: import("../state/turn.js").Turn}} properties */
function Ending({ turn }) {
  const { failure, finish, usage, text } = turn.record;
  const state = turn.state.value;
  const count = usage ? `${usage.completion_tokens} tokens` : `${text.length} characters`;
  const hasRequest = turn.record.request !== null;
  const goOn = hasRequest && text && html`<button type="button" class="link resume" onClick=${() => resume(turn)}>Resume exactly</button>`;
  const retry = html`<button type="button" class="link retry" onClick=${() => again(turn)}>Retry</button>`;
  if (state === "FAILED") return html`<p class="ending bad" role="alert">${failure} ${goOn} ${retry}</p>`;
  if (state === "CUT") return html`<p class="ending warn">Cut off after ${count}${failure ? `: ${failure}` : ""} ${goOn} ${retry}</p>`;
  if (state === "STOPPED") return html`<p class="ending">Stopped by you after ${count} ${goOn}</p>`;
  if (turn.isCatchingUp.value) return html`<p class="ending">Catching up</p>`;
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
