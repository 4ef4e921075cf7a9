// What the person said, and saying it otherwise.

import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";
import { resend } from "../state/talk.js";
import { editing } from "../state/tree.js";
import { copyTurn, drop, edit } from "./acts.js";
import { Sent } from "./attachments.js";
import { Branches } from "./branches.js";
import { Editor } from "./editor.js";

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function UserTurn({ turn }) {
  if (editing.value === turn.id) {
    return html`<article class="turn user editing" tabindex="-1">
      <h2 class="reader">You, editing</h2>
      <${Editor} id=${turn.id} label="Your message" text=${turn.record.text} action="Send" onDone=${(/** @type {string} */ text) => resend(turn, text)} />
    </article>`;
  }
  return html`<article class="turn user" tabindex="-1">
    <h2 class="reader">You</h2>
    ${turn.record.attachments && html`<${Sent} files=${turn.record.attachments} />`}
    ${turn.record.text && html`<div class="said" dir="auto">${turn.record.text}</div>`}
    <footer>
      <${Branches} turn=${turn} />
      <button type="button" class="icon-button" aria-label="Copy" title="Copy (C)" onClick=${() => copyTurn(turn)}><${Icon} name="copy" /></button>
      <button type="button" class="icon-button edit" aria-label="Edit" title="Edit and send again (E)" onClick=${() => edit(turn)}><${Icon} name="edit" /></button>
      <button type="button" class="icon-button drop" aria-label="Delete" title="Delete with all that follows (D)" onClick=${() => drop(turn)}><${Icon} name="bin" /></button>
    </footer>
  </article>`;
}
