// Beside the chat: what the next request says, what the last turn took, and both raw.

import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";
import { open as chat } from "../state/chats.js";
import { panelTab } from "../state/session.js";
import { answers, inView, lookAt } from "../state/tree.js";
import { Context } from "./context.js";
import { Further } from "./further.js";
import { Grip } from "./grip.js";
import { Logprobs } from "./logprobs.js";
import { Output } from "./output.js";
import { Presets } from "./presets.js";
import { Raw } from "./raw.js";
import { Sampling } from "./sampling.js";
import { System, Thinking } from "./system.js";
import { ThisTurn } from "./this-turn.js";
import { Tools } from "./tools.js";

const TABS = [
  { name: "settings", label: "Settings" },
  { name: "turn", label: "This turn" },
  { name: "raw", label: "Raw" },
];

/** @param {{onClose: () => void}} properties */
export function Panel({ onClose }) {
  const open = panelTab.value;
  const turn = inView.value;
  const last = answers.value.at(-1);
  const move = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    const next = TABS[(TABS.findIndex((tab) => tab.name === open) + by + TABS.length) % TABS.length];
    panelTab.value = next.name;
    document.getElementById(`tab-${next.name}`)?.focus();
  };
  return html`<${Grip} onClose=${onClose} /><div class="head"><div class="tabs" role="tablist" onKeyDown=${move}>
      ${TABS.map(
        ({ name, label }) => html`<button type="button" role="tab" key=${name} id=${`tab-${name}`} aria-selected=${open === name} aria-controls="panel-body"
          tabindex=${open === name ? 0 : -1} onClick=${() => (panelTab.value = name)}>${label}</button>`,
      )}
      </div>
      <button type="button" class="icon-button close" aria-label="Close" onClick=${onClose}><${Icon} name="right" /></button>
    </div>
    <div class="scroll" role="tabpanel" id="panel-body" aria-labelledby=${`tab-${open}`} tabindex="0">
      ${open !== "settings" && turn && turn !== last && html`<section><h2>Answer ${answers.value.indexOf(turn) + 1} of ${answers.value.length}
        <button type="button" class="link" id="show-last" onClick=${() => last && lookAt(last)}>Show the last</button></h2></section>`}
      ${open === "settings" && html`<${Settings} key=${chat.value.id} />`}
      ${open === "turn" && html`<${ThisTurn} turn=${turn} /><${Logprobs} />`}
      ${open === "raw" && html`<${Raw} turn=${turn} />`}
    </div>`;
}

/** Of one chat: what is half typed goes to no other one. */
function Settings() {
  return html`<${Presets} /><${System} /><${Thinking} /><${Sampling} /><${Output} /><${Tools} /><${Further} /><${Context} />`;
}
