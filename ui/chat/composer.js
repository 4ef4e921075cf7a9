// Where the next message is written: kept as it is typed, counted, sent, and the running answer stopped.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { isSending } from "../parts/sending.js";
import { Icon } from "../shell/icons.js";
import { draftOf, keepDraft, open, runOfOpen, stop } from "../state/chats.js";
import { waiting } from "../state/waiting.js";

const Meter = later(async () => (await import("./meter.js")).Meter);
const Queue = later(async () => (await import("./queue.js")).Queue);
const isTouch = matchMedia("(pointer: coarse)");
/** For so long the button that stopped does nothing: a second press was meant for the answer that just ended. */
const GRACE_MS = 400;

export function Composer() {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const { id } = open.value;
  const isRunning = runOfOpen() !== null;
  const isStopShown = useGrace(isRunning);
  const hasQueue = waiting.value.some((record) => record.conversation === id);
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
  const submit = async (isNow = false) => {
    if (!text.trim()) return;
    try {
      const { send } = await import("../state/talk.js");
      await send(text.trim(), isNow);
      setProblem("");
      type("");
      if (isTouch.matches) area.current?.blur();
    } catch (error) {
      // The schema of the panel is written by hand; a module that did not come is told as a TypeError.
      if (error instanceof SyntaxError) setProblem(`The schema is no JSON: ${error.message}`);
      else if (error instanceof TypeError) setProblem("The server went away before this page was whole. Your message stays here.");
      else throw error;
    }
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (!isSending(event)) return;
    event.preventDefault();
    submit(event.ctrlKey || event.metaKey);
  };
  return html`<form class="composer" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), submit())}>
    ${hasQueue && html`<${Queue} />`}
    <div class="box">
      <label class="reader" for="prompt">Message</label>
      <textarea id="prompt" ref=${area} rows="1" placeholder=${isRunning ? "Write the next message. It is sent when this answer ends." : "Message"} autocomplete="off" value=${text}
        onInput=${(/** @type {any} */ event) => type(event.target.value)} onKeyDown=${press}></textarea>
      <div class="under">
        <span class="meter-place"><${Meter} draft=${text} /></span>
        ${isRunning && text.trim() && html`<button type="submit" class="round quiet" id="queue" aria-label="Send when this answer ends" title="Send when this answer ends (Enter)"><${Icon} name="send" /></button>`}
        ${isStopShown
          ? html`<button type="button" class="round" id="stop" key="stop" aria-label="Stop" aria-disabled=${!isRunning} title="Stop (Esc)" onClick=${stop}><${Icon} name="stop" /></button>`
          : html`<button type="submit" class="round" id="send" key="send" aria-label="Send" title="Send (Enter)" disabled=${!text.trim()}><${Icon} name="send" /></button>`}
      </div>
    </div>
    ${problem && html`<p class="ending bad" role="alert">${problem}</p>`}
    <p class="hint"><kbd>Enter</kbd> sends <kbd>Shift Enter</kbd> a line <kbd>Esc</kbd> stops <kbd>↑</kbd> edits the last</p>
  </form>`;
}

/** True while it runs and for a moment after. @param {boolean} isRunning */
function useGrace(isRunning) {
  const [isOn, setOn] = useState(isRunning);
  useEffect(() => {
    if (isRunning) return setOn(true);
    const timer = setTimeout(() => setOn(false), GRACE_MS);
    return () => clearTimeout(timer);
  }, [isRunning]);
  return isRunning || isOn;
}

/** @param {HTMLTextAreaElement | null} area */
function fit(area) {
  if (!area) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}
