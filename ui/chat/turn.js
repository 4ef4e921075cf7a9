// One answer: reasoning, text, tool calls, how it ended, what it took.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { Menu } from "../parts/menu.js";
import { Icon } from "../shell/icons.js";
import { Thoughts } from "../shell/thoughts.js";
import { settings } from "../state/settings.js";
import { correct } from "../state/talk.js";
import { answers, editing, siblingsOf, turns } from "../state/tree.js";
import { markdownOf } from "../state/turn.js";
import { branchOff, copyPlain, copyTurn, drop, edit, regenerate, sameAgain } from "./acts.js";
import { Branches, compare } from "./branches.js";
import { Editor } from "./editor.js";
import { Ending, wayOn } from "./ending.js";
import { follow } from "../text/frame.js";
import { viewOf } from "../text/live.js";
import { logprobsItem } from "./logprobs.js";
import { Readout } from "./readout.js";
import { Sameness } from "./sameness.js";
import { ToolCards } from "./tool-cards.js";
import { Waiting } from "./waiting.js";

/** @typedef {import("../text/sheet.js").AnswerText} AnswerText */

const Tokens = later(async () => (await import("./tokens.js")).Tokens);

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function AnswerTurn({ turn }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const shown = useRef(/** @type {AnswerText | null} */ (null));
  const state = turn.state.value;
  useLayoutEffect(() => {
    if (!place.current) return;
    const view = (shown.current = viewOf(turn));
    // Whole before it is shown, so that no frame lacks it; the frame loop then also keeps the reader's place.
    if (turn.isRunning) draw(turn, view);
    else view.open(markdownOf(turn.record));
    place.current.replaceChildren(view.element);
    const unfollow = follow({ draw: () => draw(turn, view) });
    return () => {
      unfollow();
      // What a template keeps of itself is in one tree with it, and no long text stays for that.
      view.element.remove();
    };
  }, [turn, turn.resumptions.value, editing.value === turn.id]);
  // With its end the text is whole, in a tab behind others too, where no frame comes.
  useLayoutEffect(() => {
    if (!turn.isRunning && shown.current) draw(turn, shown.current);
  }, [state]);
  const hasTokens = !turn.isRunning && Boolean(turn.record.logprobs?.length) && settings.value.logprobs === true;
  const siblings = siblingsOf(turns.value, turn);
  const name = siblings.length > 1 ? `Answer ${siblings.indexOf(turn) + 1} of ${siblings.length}` : "Answer";
  if (editing.value === turn.id) {
    return html`<article class="turn answer editing" tabindex="-1">
      <h2 class="reader">${name}, editing</h2>
      <${Editor} id=${turn.id} label="The answer" text=${turn.record.text} action="Keep" onDone=${(/** @type {string} */ text) => correct(turn, text)} />
    </article>`;
  }
  return html`<article class=${`turn answer ${turn.isRunning ? "running" : ""}`} tabindex="-1" aria-busy=${turn.isRunning} data-state=${state}>
    <h2 class="reader">${name}</h2>
    <${Thoughts} turn=${turn} />
    <${Waiting} turn=${turn} />
    <div ref=${place} hidden=${hasTokens}></div>
    ${hasTokens && html`<${Tokens} turn=${turn} />`}
    <${ToolCards} turn=${turn} />
    <${Ending} turn=${turn} />
    ${!turn.isRunning && html`<${Sameness} turn=${turn} /><${Foot} key=${state} turn=${turn} />`}
  </article>`;
}

/**
 * Brings the view to what the turn has. Returns whether more may come.
 * @param {import("../state/turn.js").Turn} turn @param {AnswerText} view
 */
function draw(turn, view) {
  view.show(markdownOf(turn.record));
  if (turn.isRunning) return true;
  view.end();
  return false;
}

/** @param {{turn: import("../state/turn.js").Turn}} properties */
function Foot({ turn }) {
  const [said, setSaid] = useState("");
  const { record } = turn;
  const take = async (/** @type {typeof copyTurn} */ as) => {
    setSaid(await as(turn));
    setTimeout(() => setSaid(""), 1500);
  };
  // The second half of a double click was meant for what stood there before.
  const act = (/** @type {string} */ name, /** @type {string} */ label, /** @type {import("../shell/icons.js").IconName} */ icon, /** @type {string} */ title, /** @type {() => unknown} */ run) =>
    html`<button type="button" class=${`icon-button ${name}`} aria-label=${label} title=${title} onClick=${(/** @type {MouseEvent} */ event) => event.detail < 2 && run()}><${Icon} name=${icon} /></button>`;
  const siblings = siblingsOf(turns.value, turn);
  const way = wayOn(turn);
  const more = [
    ...(way ? [way] : []),
    { label: "Edit", about: "E", act: () => edit(turn) },
    // A phone has no room for these as buttons.
    ...(record.seed === null ? [] : [{ label: "Same again", about: "S", act: () => sameAgain(turn) }]),
    { label: "Branch into a new chat", about: "B", act: () => branchOff(turn) },
    ...(siblings.length < 2 ? [] : [{ label: "Compare these", act: () => compare(turn, siblings) }]),
    logprobsItem(turn),
    { label: "Copy as Markdown", about: "C", act: () => take(copyTurn), isApart: true },
    { label: "Copy as plain text", act: () => take(copyPlain) },
    { label: "Export up to here as Markdown", act: async () => (await import("../state/transfer.js")).exportBranch(turn) },
    { label: "Delete", about: "D", act: () => drop(turn), isBad: true, isApart: true },
  ];
  return html`<footer>
    <${Branches} turn=${turn} />
    ${record.isEdited && html`<span class="tag">edited</span>`}
    ${isAfterSwitch(turn, siblings) && html`<span class="tag" title="The model that wrote it">${record.model}</span>`}
    <${Readout} turn=${turn} />
    <span class="turn-actions">
      <span class="said-copied" role="status">${said}</span>
      ${act("take", "Copy answer", "copy", "Copy (C)", () => take(copyTurn))}
      ${act("again", "Regenerate", "again", "Another answer, new seed (R)", () => regenerate(turn))}
      ${record.seed !== null && act("same wide", "Same again", "same", "The same request with the same seed (S)", () => sameAgain(turn))}
      ${act("fork wide", "Branch into a new chat", "branch", "Branch into a new chat (B)", () => branchOff(turn))}
      <${Menu} id=${`more-${turn.id}`} label="More of this answer" title="More" face=${html`<${Icon} name="more" />`} items=${more} />
    </span>
  </footer>`;
}

/** Whether another model wrote what stands before it or in its place. @param {import("../state/turn.js").Turn} turn @param {import("../state/turn.js").Turn[]} siblings */
function isAfterSwitch({ id, record }, siblings) {
  const before = answers.value[answers.value.findIndex((other) => other.id === id) - 1];
  const others = [before, ...siblings].map((other) => other?.record.model);
  return Boolean(record.model) && others.some((model) => model && model !== record.model);
}
