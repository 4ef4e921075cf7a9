// The messages that wait over the composer: each can be written anew, and dropped.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { isSending } from "../parts/sending.js";
import { Icon } from "../shell/icons.js";
import { open, runOfOpen } from "../state/chats.js";
import { urge } from "../state/outbox.js";
import { missing, pinnedModel } from "../state/respondent.js";
import { isConnected } from "../state/session.js";
import { canAsk } from "../state/talk.js";
import { drop, hold, release, rewrite, waiting } from "../state/waiting.js";

export function Queue() {
  const own = waiting.value.filter((record) => record.conversation === open.value.id);
  const isFree = canAsk(pinnedModel.value) && !runOfOpen();
  const why = isFree ? "Not sent yet" : runOfOpen() ? "Sent when this answer ends" : `Sent when ${isConnected.value ? `${missing.value || "a model"} is loaded` : "the server is back"}`;
  return html`<section class="queue" aria-label="Messages that wait">
    <p class="about">${why} ${isFree && html`<button type="button" class="link" id="send-waiting" onClick=${urge}>Send ${own.length === 1 ? "it" : own.length} now</button>`}</p>
    <ul>${own.map((record) => html`<${Chip} key=${record.id} record=${record} />`)}</ul>
  </section>`;
}

/** @param {{record: import("../state/waiting.js").TurnRecord}} properties */
function Chip({ record }) {
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const isEditing = draft !== null;
  useLayoutEffect(() => {
    if (!isEditing) return;
    // What is being written does not go out half written, from its first moment on.
    hold(record.conversation);
    area.current?.focus();
    return () => release(record.conversation);
  }, [isEditing]);
  // Enter takes the focus away, and that must not write a second time what may be on its way by then.
  const isKept = useRef(false);
  const keep = async () => {
    if (isKept.current) return;
    isKept.current = true;
    if (draft?.trim()) await rewrite(record.id, draft.trim());
    setDraft(null);
    isKept.current = false;
    document.getElementById("prompt")?.focus();
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      setDraft(null);
    } else if (isSending(event)) {
      event.preventDefault();
      keep();
    }
  };
  if (isEditing) {
    return html`<li><textarea class="field" ref=${area} aria-label="Message that waits" rows="2" value=${draft}
        onInput=${(/** @type {any} */ event) => setDraft(event.target.value)} onKeyDown=${press} onBlur=${keep}></textarea></li>`;
  }
  const files = (record.attachments ?? []).map(({ name }) => name).join(", ");
  return html`<li>
    <span class="name">${record.text}${files && html` <span class="about">${files}</span>`}</span>
    <button type="button" class="icon-button edit" aria-label="Edit this message" title="Edit" onClick=${() => setDraft(record.text)}><${Icon} name="edit" /></button>
    <button type="button" class="icon-button drop" aria-label="Drop this message" title="Drop" onClick=${() => drop(record)}><${Icon} name="bin" /></button>
  </li>`;
}
