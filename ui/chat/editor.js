// The text of a turn, written anew in its place.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { editing } from "../state/tree.js";
import { focusByKey } from "./acts.js";

/** @param {{label: string, text: string, action: string, onDone: (text: string) => void}} properties */
export function Editor({ label, text, action, onDone }) {
  const [draft, setDraft] = useState(text);
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  // Before it is painted: whoever selected or typed something by then would have the caret moved.
  useLayoutEffect(() => {
    area.current?.focus();
    area.current?.setSelectionRange(text.length, text.length);
    return () => {
      // Another chat is opened: what was begun there is not gone on with elsewhere.
      editing.value = null;
    };
  }, []);
  const leave = () => {
    const turn = area.current?.closest(".turn");
    editing.value = null;
    if (turn instanceof HTMLElement) requestAnimationFrame(() => focusByKey(turn));
  };
  const submit = () => {
    if (draft.trim() && draft !== text) onDone(draft.trim());
    leave();
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      leave();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  };
  return html`<textarea class="field" aria-label=${label} rows=${Math.min(20, Math.max(draft.split("\n").length, draft.length / 70) + 1)} value=${draft} ref=${area}
      onInput=${(/** @type {any} */ event) => setDraft(event.target.value)} onKeyDown=${keys}></textarea>
    <div class="actions">
      <button type="button" class="button" onClick=${leave}>Cancel</button>
      <button type="button" class="button main" onClick=${submit}>${action}</button>
    </div>`;
}
