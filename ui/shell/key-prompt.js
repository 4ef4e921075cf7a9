// Asks for the API key once the server has refused a request without the right one.

import { useEffect, useRef } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { watch } from "../state/server.js";
import { hasKey, refuseKey, useKey } from "../state/session.js";

export function KeyPrompt() {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  const take = (/** @type {Event} */ event) => {
    event.preventDefault();
    useKey(input.current?.value.trim() ?? "");
    if (input.current) input.current.value = "";
    watch();
  };
  return html`<dialog ref=${dialog} aria-labelledby="key-title" onClose=${refuseKey}>
    <form onSubmit=${take}>
      <h2 id="key-title">This server asks for a key</h2>
      <p>${hasKey.value ? "It does not accept the one you gave." : "It is kept for this tab only."}</p>
      <label class="reader" for="key-input">API key</label>
      <input ref=${input} class="field" type="password" id="key-input" autocomplete="off" placeholder="sk-…" required />
      <div class="actions">
        <button type="button" class="button" onClick=${refuseKey}>Cancel</button>
        <button type="submit" class="button main">Use this key</button>
      </div>
    </form>
  </dialog>`;
}
