// Where the next message is written: kept as it is typed, counted, sent, and the running answer stopped.

import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { later } from "../parts/later.js";
import { CONTROL, isSending } from "../parts/sending.js";
import { Icon } from "../shell/icons.js";
import { attach, attached, keepBack, letGo, MAX_PASTED_LENGTH, PASTED, problemWith, read, sendOff, show } from "../state/attachments.js";
import { here, open, runOfOpen, stop } from "../state/chats.js";
import { draftOf, keepDraft } from "../state/place.js";
import { missing, only } from "../state/respondent.js";
import { change, failure } from "../state/server.js";
import { excess, refusal } from "../state/session.js";
import { waiting } from "../state/waiting.js";

const Controls = later(async () => (await import("./controls.js")).Controls);
const Meter = later(async () => (await import("./meter.js")).Meter);
const Attached = later(async () => (await import("./attachments.js")).Attached);
const Queue = later(async () => (await import("./queue.js")).Queue);
const isTouch = matchMedia("(pointer: coarse)");
/** For so long the button that stopped does nothing: a second press was meant for the answer that just ended. */
const GRACE_MS = 400;
/** What was typed last in each chat, shown or not. @type {Map<string, string>} */
const typedLast = new Map();
/** Messages that are on their way, by chat: until then each is its chat's draft still. @type {Map<string, Promise<void>>} */
const leaving = new Map();
/** Their words. @type {Map<string, string>} */
const unsent = new Map();
/** A server that is frozen for so long when it is asked for what sends is told of. */
const SLOW_MS = 1000;
const SHOWN_LENGTH = 300;

export function Composer() {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const { id } = open.value;
  const isRunning = runOfOpen() !== null;
  const isStopShown = useGrace(isRunning);
  const obstacle = (missing.value && `${missing.value} must be loaded first.`) || problemWith(attached.value);
  const said = problem || refusal.value || obstacle;
  const warning = said ? "" : excess.value;
  const isEmpty = !text.trim() && !attached.value.length;
  const sending = obstacle || "Send (Enter)";
  const hasQueue = waiting.value.some((record) => record.conversation === id);
  // At once: what is typed right after another chat is opened belongs into it, with no file of the one before.
  useLayoutEffect(() => {
    let isCurrent = true;
    const sent = leaving.get(id);
    const begun = sent ? sent.then(() => draftOf(id)) : draftOf(id);
    begun.then((draft) => {
      if (!isCurrent || !draft) return;
      // What was typed before the draft was read goes on from it; neither is lost.
      const typed = area.current?.value;
      if (typed && !(sent && draft.endsWith(typed))) type(`${draft}\n${typed}`);
      else setText(draft);
    });
    show(id);
    if (!isTouch.matches) area.current?.focus();
    return () => {
      isCurrent = false;
    };
  }, [id]);
  useEffect(() => fit(area.current), [text]);
  // Another model, or without the picture: what was said of it is past.
  useEffect(() => setProblem(""), [obstacle]);
  useEffect(() => void (refusal.value = ""), [id, open.value.settings, only.value]);
  const type = (/** @type {string} */ typed) => {
    setText(typed);
    typedLast.set(id, typed);
    keepDraft(id, [unsent.get(id), typed].filter(Boolean).join("\n"));
  };
  const submit = async (isNow = false) => {
    const files = attached.value;
    if (!text.trim() && !files.length) return;
    if (obstacle) return setProblem(obstacle);
    // What is typed or attached from here on is the next message already; this one stays in the store's draft until it is on its way.
    setText("");
    sendOff(files);
    typedLast.delete(id);
    unsent.set(id, text);
    const going = dispatch(files, isNow);
    leaving.set(id, going.catch(() => {}));
    await going.finally(() => leaving.delete(id));
  };
  const dispatch = async (/** @type {typeof attached.value} */ files, /** @type {boolean} */ isNow) => {
    const from = here();
    const slow = setTimeout(() => setProblem(`The server does not answer yet. Your message is kept, and goes once it does: ${text.trim().slice(0, SHOWN_LENGTH)}`), SLOW_MS);
    try {
      const { send } = await import("../state/outbox.js");
      clearTimeout(slow);
      await send(text.trim(), isNow, await read(files), from);
      letGo(files);
      unsent.delete(id);
      setProblem((refusal.value = ""));
      keepDraft(id, typedLast.get(id) ?? "");
      if (isTouch.matches) area.current?.blur();
    } catch (error) {
      unsent.delete(id);
      keepBack(id, files);
      type(typedLast.has(id) ? `${text}\n${typedLast.get(id)}` : text);
      // What the panel holds an answer to is written by hand, and says what is wrong; a module that did not come is told as a TypeError.
      if (error instanceof SyntaxError) setProblem(error.message);
      else if (error instanceof TypeError) setProblem("The server went away before this page was whole. Your message stays here.");
      else throw error;
    } finally {
      clearTimeout(slow);
    }
  };
  const take = async (/** @type {File[]} */ files) => setProblem(await attach(id, files));
  useEffect(() => droppedAnywhere(take), [id]);
  const paste = (/** @type {ClipboardEvent} */ event) => {
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    let files = [...(event.clipboardData?.files ?? [])];
    // A table of a spreadsheet comes with its picture: the text was meant. The names of files that were copied were not.
    const names = new Set(files.map(({ name }) => name));
    if (pasted.split(/\r?\n/).some((line) => line.trim() && !names.has(line.trim()))) files = [];
    if (!files.length && pasted.length > MAX_PASTED_LENGTH) files.push(new File([pasted], PASTED, { type: "text/plain" }));
    if (!files.length) return;
    event.preventDefault();
    take(files);
  };
  const end = () => {
    stop();
    // The button goes, and with it the focus would.
    if (!isTouch.matches) area.current?.focus();
  };
  const load = async () => {
    // It goes once that is under way.
    area.current?.focus();
    await change(missing.value);
    setProblem(failure.value);
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (!isSending(event)) return;
    event.preventDefault();
    submit(event.ctrlKey || event.metaKey);
  };
  return html`<form class="composer" onPaste=${paste} onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), submit())}>
    ${hasQueue && html`<${Queue} />`}
    <div class="box">
      ${attached.value.length > 0 && html`<${Attached} onPutBack=${(/** @type {string} */ back) => type(text ? `${text}\n${back}` : back)} />`}
      <label class="reader" for="prompt">Message</label>
      <textarea id="prompt" ref=${area} rows="1" placeholder=${isRunning ? "Write the next message. It is sent when this answer ends." : "Message"} autocomplete="off" value=${text}
        onInput=${(/** @type {any} */ event) => type(event.target.value)} onKeyDown=${press}></textarea>
      <div class="under">
        <label class="icon-button attach" title="Attach pictures or text"><${Icon} name="clip" /><input type="file" class="reader" multiple aria-label="Attach files"
          onChange=${(/** @type {any} */ event) => (take([...event.target.files]), (event.target.value = ""))} /></label>
        <${Controls} />
        <span class="meter-place"><${Meter} draft=${text} /></span>
        ${isRunning && !isEmpty && html`<button type="submit" class="round quiet" id="queue" aria-label="Send when this answer ends" title="Send when this answer ends (Enter)"><${Icon} name="send" /></button>`}
        ${isStopShown
          ? html`<button type="button" class="round" id="stop" key="stop" aria-label="Stop" aria-disabled=${!isRunning} title="Stop (Esc)" onClick=${end}><${Icon} name="stop" /></button>`
          : html`<button type="submit" class="round" id="send" key="send" aria-label=${obstacle ? `Send: ${obstacle}` : "Send"} aria-disabled=${obstacle !== ""} title=${sending} disabled=${isEmpty}><${Icon} name="send" /></button>`}
      </div>
    </div>
    ${said && html`<p class="ending bad" role="alert">${said} ${missing.value && html`<button type="button" class="link" id="load-first" onClick=${load}>Load it</button>`}</p>`}
    ${warning && html`<p class="ending warn" role="status">${warning}</p>`}
    <p class="hint"><kbd>Enter</kbd> sends <kbd>Shift Enter</kbd> a line <kbd>Esc</kbd> stops <kbd>↑</kbd> edits the last <kbd>${CONTROL} K</kbd> finds anything</p>
  </form>`;
}

/** Takes files wherever in the page they are dropped. @param {(files: File[]) => void} take @returns {() => void} */
function droppedAnywhere(take) {
  const over = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") && event.preventDefault();
  const drop = (/** @type {DragEvent} */ event) => {
    const files = [...(event.dataTransfer?.files ?? [])];
    if (!files.length || event.defaultPrevented) return;
    event.preventDefault();
    take(files);
  };
  document.addEventListener("dragover", over);
  document.addEventListener("drop", drop);
  return () => {
    document.removeEventListener("dragover", over);
    document.removeEventListener("drop", drop);
  };
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
