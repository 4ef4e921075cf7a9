// Asks for the API key once the server has refused a request without the right one, or a person wants to give one.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { watch } from "../state/server.js";
import { hasKey, isKeyWanted, refuseKey, strangerIn, useKey } from "../state/session.js";

export function KeyPrompt() {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [stranger, setStranger] = useState("");
  const isRefused = isKeyWanted.value === "refused";
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // It is taken away rather than closed, and gives the focus back itself.
    return () => giveBack(before);
  }, []);
  const take = (/** @type {Event} */ event) => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? "";
    setStranger(strangerIn(key));
    if (strangerIn(key)) return;
    useKey(key);
    if (input.current) input.current.value = "";
    watch();
  };
  return html`<dialog ref=${dialog} aria-labelledby="key-title" onClose=${refuseKey}>
    <form onSubmit=${take}>
      <h2 id="key-title">${isRefused ? "This server asks for a key" : "API key"}</h2>
      <p>${!hasKey.value ? "It is kept for this tab only." : isRefused ? "It does not accept the one you gave." : "Another one takes the place of the one you gave, for this tab only."}</p>
      <label class="reader" for="key-input">API key</label>
      <input ref=${input} class="field" type="password" id="key-input" autocomplete="off" placeholder="sk-…" required
        aria-invalid=${stranger !== ""} aria-describedby="key-wrong" />
      ${stranger && html`<p class="bad" id="key-wrong" role="alert">No key has the character ${stranger} in it: a text that it was copied from may have put it there.</p>`}
      <div class="actions">
        <button type="button" class="button" onClick=${refuseKey}>Cancel</button>
        <button type="submit" class="button main">Use this key</button>
      </div>
    </form>
  </dialog>`;
}

/** @param {Element | null} before */
function giveBack(before) {
  const isThere = before instanceof HTMLElement && before.isConnected && before !== document.body;
  const place = isThere ? before : (document.getElementById("prompt") ?? document.querySelector("#view h1"));
  /** @type {HTMLElement | null} */ (place)?.focus();
}
