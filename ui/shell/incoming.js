// What a file of chats would bring, before it comes in.

import { Dialog } from "../parts/dialog.js";
import { count } from "../parts/format.js";
import { html } from "../parts/html.js";
import { announce } from "../state/session.js";
import { dismiss, incoming, summary, take } from "../state/transfer.js";

const MAX_SHOWN = 200;

export function Incoming() {
  const { name, problem, merges, isTaking } = /** @type {NonNullable<typeof incoming.value>} */ (incoming.value);
  const { numChats, numKnown, numNew, numNewer, numKept } = summary.value;
  const finish = async () => (await take()) && announce(`${numChats} ${numChats === 1 ? "chat" : "chats"} imported`);
  const facts = [
    [`${count(numChats)} ${numChats === 1 ? "chat" : "chats"}`, numKnown ? `${count(numKnown)} of them here already` : "none of them here yet"],
    [`${count(numNew)} new ${numNew === 1 ? "turn" : "turns"}`, "come in"],
    ...(numNewer ? [[`${count(numNewer)} newer ${numNewer === 1 ? "turn" : "turns"}`, "take the place of older ones here"]] : []),
    ...(numKept ? [[`${count(numKept)} ${numKept === 1 ? "turn" : "turns"}`, "are here as new or newer, and stay as they are"]] : []),
  ];
  return html`<${Dialog} label="Import chats" kind="importing" onClose=${dismiss}>
    <p class="about">${name}</p>
    ${problem && html`<p class="ending bad" role="alert">${problem}</p>`}
    ${!problem && !merges && html`<p role="status">Reading…</p>`}
    ${merges && html`<dl class="facts">${facts.map(([what, about]) => html`<dt>${what}</dt><dd>${about}</dd>`)}</dl>
      <ul class="runs" tabindex="0" aria-label="Chats in the file">
        ${merges.slice(0, MAX_SHOWN).map(({ conversation, isKnown, numNew: fresh }) => html`<li key=${conversation.id}>
          <span class="name">${conversation.title}</span><span class="about">${isKnown ? "here" : "new"} · ${count(fresh)} new</span></li>`)}
        ${merges.length > MAX_SHOWN && html`<li class="about">and ${count(merges.length - MAX_SHOWN)} more</li>`}
      </ul>`}
    <div class="actions">
      <button type="button" class="button" onClick=${dismiss}>${problem ? "Close" : "Cancel"}</button>
      ${merges && html`<button type="button" class="button main" id="take-in" disabled=${isTaking} onClick=${finish}>Import</button>`}
    </div>
  <//>`;
}
