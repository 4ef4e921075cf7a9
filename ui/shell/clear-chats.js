// Deletes all chats at once, for whoever writes how many those are.

import { useEffect, useState } from "../vendor/hooks.js";
import { Dialog } from "../parts/dialog.js";
import { count } from "../parts/format.js";
import { html } from "../parts/html.js";
import { everyChat, removeAll } from "../state/removing.js";
import { dialog, offerUndo } from "../state/session.js";

/** @typedef {import("../store/conversations.js").Conversation} Conversation */

export function ClearChats() {
  const [chats, setChats] = useState(/** @type {Conversation[] | null} */ (null));
  const [typed, setTyped] = useState("");
  useEffect(() => void everyChat().then(setChats), []);
  const close = () => (dialog.value = null);
  const number = chats?.length ?? 0;
  const words = `${count(number)} ${number === 1 ? "chat" : "chats"}`;
  const isMeant = number > 0 && typed.replace(/\D/g, "") === String(number);
  const clear = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!isMeant || !chats) return;
    close();
    offerUndo(`Deleted ${words}`, await removeAll(chats));
  };
  return html`<${Dialog} label="Delete all chats" kind="clearing" onClose=${close}>
    <form onSubmit=${clear}>
      <p>${chats ? `${words} of this browser, with all that was said in ${number === 1 ? "it" : "them"}.` : "Counting…"}</p>
      <label>How many chats will be deleted?
        <input class="field" id="clear-number" inputmode="numeric" autocomplete="off" autofocus placeholder=${chats ? count(number) : ""} value=${typed}
          onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label>
      <div class="actions">
        <button type="button" class="button" onClick=${close}>Cancel</button>
        <button type="submit" class="button main" id="clear-chats" disabled=${!isMeant}>Delete ${words}</button>
      </div>
    </form>
  <//>`;
}
