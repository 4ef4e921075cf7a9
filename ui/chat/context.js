// What fills the context of the open chat, and what is left of it.

import { countTokens } from "../api/tokenize.js";
import { useEffect, useState } from "../vendor/hooks.js";
import { count } from "../parts/format.js";
import { html } from "../parts/html.js";
import { respondent } from "../state/respondent.js";
import { settings } from "../state/settings.js";
import { path } from "../state/tree.js";
import { useCount, useFilling } from "./meter.js";

const PAUSE_MS = 400;
/** @type {import("../state/attachments.js").KeptFile[]} one list for all counts: another one would be counted anew */
const NO_FILES = [];

export function Context() {
  const { system = "" } = settings.value;
  const [numSystem, setNumSystem] = useState(0);
  useEffect(() => {
    if (!system.trim()) return setNumSystem(0);
    const controller = new AbortController();
    // A server that does not say it now says it at the next key.
    const timer = setTimeout(() => countTokens(system, controller.signal).then(setNumSystem, () => {}), PAUSE_MS);
    return () => (clearTimeout(timer), controller.abort());
  }, [system]);
  const { prompt, answer } = useFilling();
  const isRunning = path.value.at(-1)?.isRunning;
  const room = respondent.value?.max_model_len;
  const { count: later } = useCount("", NO_FILES, prompt + answer, room ?? 0);
  if (!room) return null;
  const parts = [
    { name: "thought", label: "System", size: numSystem },
    { name: "read", label: "History", size: Math.max(0, prompt - numSystem) + Math.max(0, later) },
    { name: "wrote", label: isRunning ? "This answer" : "Last answer", size: Math.max(0, answer + Math.min(0, later)) },
  ];
  const left = Math.max(0, room - parts.reduce((sum, { size }) => sum + size, 0));
  return html`<section><h2>Context</h2>
    <div class="time-bar context-bar" aria-hidden="true">${parts.map(({ name, size }) => size > 0 && html`<span class=${name} style=${{ flexGrow: size / room }}></span>`)}<span class="left" style=${{ flexGrow: left / room }}></span></div>
    <dl>${parts.map(({ name, label, size }) => html`<dt><span class=${`swatch ${name}`} aria-hidden="true"></span>${label}</dt><dd>${count(size)}</dd>`)}
      <dt><strong>Room left</strong></dt><dd><strong>${count(left)}</strong></dd></dl>
  </section>`;
}
