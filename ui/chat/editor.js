// The text of a turn, written anew in its place; what was begun is kept until it is sent or given up.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { unlessGoneOn } from "../parts/sending.js";
import { draftOf, keepDraft } from "../state/place.js";
import { editing } from "../state/tree.js";
import { focusTurn } from "./acts.js";

/** @param {{id: string, label: string, text: string, action: string, onDone: (text: string) => void}} properties */
export function Editor({ id, label, text, action, onDone }) {
  const [draft, setDraft] = useState(text);
  const [problem, setProblem] = useState("");
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  // Before it is painted: whoever selected or typed something by then would have the caret moved.
  useLayoutEffect(() => {
    area.current?.focus();
    area.current?.setSelectionRange(text.length, text.length);
    draftOf(id).then((begun) => {
      if (begun && area.current?.value === text) setDraft(begun);
    });
    return () => {
      // Another chat is opened: there nothing is edited yet. Another turn of this one may be already.
      if (editing.value === id) editing.value = null;
    };
  }, []);
  const type = (/** @type {string} */ typed) => {
    setDraft(typed);
    keepDraft(id, typed);
  };
  const leave = () => {
    const at = [...document.querySelectorAll("#log .turn")].findIndex((turn) => turn.contains(area.current));
    keepDraft(id, "");
    editing.value = null;
    // What was sent stands in the place of what it was before.
    unlessGoneOn()(() => focusTurn(at));
  };
  const submit = () => {
    try {
      if (draft.trim() && draft !== text) onDone(draft.trim());
      leave();
    } catch (error) {
      // What the panel holds an answer to is written by hand.
      if (!(error instanceof SyntaxError)) throw error;
      setProblem(error.message);
    }
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      leave();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  };
  return html`<textarea class="field" aria-label=${label} rows=${Math.min(20, Math.max(draft.split("\n").length, draft.length / 70) + 1)} value=${draft} ref=${area}
      onInput=${(/** @type {any} */ event) => type(event.target.value)} onKeyDown=${keys}></textarea>
    ${problem && html`<p class="ending bad" role="alert">${problem}</p>`}
    <div class="actions">
      <button type="button" class="button" onClick=${leave}>Cancel</button>
      <button type="button" class="button main" onClick=${submit}>${action}</button>
    </div>`;
}
