// Where the next message is written: kept as it is typed, counted, sent, and the running answer stopped.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { isSending } from "../parts/sending.js";
import { Icon } from "../shell/icons.js";
import { draftOf, keepDraft, open } from "../state/chats.js";
import { runOfOpen, send, stop } from "../state/talk.js";
import { Meter } from "./meter.js";

const isTouch = matchMedia("(pointer: coarse)");

export function Composer() {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const { id } = open.value;
  const isRunning = runOfOpen() !== null;
  useEffect(() => {
    let isCurrent = true;
    draftOf(id).then((draft) => isCurrent && setText((typed) => typed || draft));
    if (!isTouch.matches) area.current?.focus();
    return () => {
      isCurrent = false;
    };
  }, [id]);
  useEffect(() => fit(area.current), [text]);
  const type = (/** @type {string} */ typed) => {
    setText(typed);
    keepDraft(id, typed);
  };
  const submit = async () => {
    if (!text.trim() || isRunning) return;
    try {
      await send(text.trim());
      setProblem("");
      type("");
    } catch (error) {
      // The schema of the panel is written by hand.
      setProblem(`The schema is no JSON: ${error instanceof Error ? error.message : error}`);
    }
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (!isSending(event)) return;
    event.preventDefault();
    if (isRunning && (event.ctrlKey || event.metaKey)) stop();
    submit();
  };
  return html`<form class="composer" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), submit())}>
    <div class="box">
      <label class="reader" for="prompt">Message</label>
      <textarea id="prompt" ref=${area} rows="1" placeholder=${isRunning ? "Write the next message" : "Message"} autocomplete="off" value=${text}
        onInput=${(/** @type {any} */ event) => type(event.target.value)} onKeyDown=${press}></textarea>
      <div class="under">
        <${Meter} draft=${text} />
        ${isRunning
          ? html`<button type="button" class="round" id="stop" key="stop" aria-label="Stop" title="Stop (Esc)" onClick=${stop}><${Icon} name="stop" /></button>`
          : html`<button type="submit" class="round" id="send" key="send" aria-label="Send" title="Send (Enter)" disabled=${!text.trim()}><${Icon} name="send" /></button>`}
      </div>
    </div>
    ${problem && html`<p class="ending bad" role="alert">${problem}</p>`}
    <p class="hint"><kbd>Enter</kbd> sends <kbd>Shift Enter</kbd> a line <kbd>Esc</kbd> stops</p>
  </form>`;
}

/** @param {HTMLTextAreaElement | null} area */
function fit(area) {
  if (!area) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}
