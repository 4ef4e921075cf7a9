// What the person said, and saying it otherwise.

import { useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { copy } from "../parts/copy.js";
import { Icon } from "../shell/icons.js";
import { resend } from "../state/talk.js";
import { Branches } from "./branches.js";

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function UserTurn({ turn }) {
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const submit = () => {
    if (draft?.trim()) resend(turn, draft.trim());
    setDraft(null);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      setDraft(null);
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  };
  if (draft !== null) {
    return html`<article class="turn user editing">
      <h2 class="reader">You, editing</h2>
      <textarea class="field" aria-label="Your message" rows=${Math.min(12, draft.split("\n").length + 1)} value=${draft}
        ref=${(/** @type {HTMLElement | null} */ area) => area && !area.matches(":focus") && area.focus()}
        onInput=${(/** @type {any} */ event) => setDraft(event.target.value)} onKeyDown=${keys}></textarea>
      <div class="actions">
        <button type="button" class="button" onClick=${() => setDraft(null)}>Cancel</button>
        <button type="button" class="button main" onClick=${submit}>Send</button>
      </div>
    </article>`;
  }
  return html`<article class="turn user">
    <h2 class="reader">You</h2>
    <div class="said" dir="auto">${turn.record.text}</div>
    <footer>
      <${Branches} turn=${turn} />
      <button type="button" class="icon-button" aria-label="Copy" title="Copy" onClick=${() => copy(turn.record.text)}><${Icon} name="copy" /></button>
      <button type="button" class="icon-button edit" aria-label="Edit" title="Edit and send again" onClick=${() => setDraft(turn.record.text)}><${Icon} name="edit" /></button>
    </footer>
  </article>`;
}
