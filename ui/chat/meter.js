// How much of the context the chat and the draft fill, and how fast the running answer comes.

import { countTokens } from "../api/tokenize.js";
import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { answering } from "../state/server.js";
import { path } from "../state/tree.js";

const PAUSE_MS = 250;

/** Tokens of the shown path by its last answer, and 0 before there is one. */
export function tokensOfPath() {
  const usage = path.value.findLast((turn) => turn.record.usage)?.record.usage;
  return usage ? usage.prompt_tokens + usage.completion_tokens : 0;
}

/** @param {{draft: string}} properties */
export function Meter({ draft }) {
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (!draft) return setCount(0);
    const controller = new AbortController();
    const ask = () => countTokens(draft, controller.signal).then(setCount, () => {});
    const timer = setTimeout(ask, PAUSE_MS);
    return () => (clearTimeout(timer), controller.abort());
  }, [draft]);
  // The counts of a turn come when it ends, which its state tells.
  for (const turn of path.value) turn.state.value;
  const room = answering.value?.max_model_len;
  const used = tokensOfPath() + count;
  if (!room) return html`<span class="meter"></span>`;
  const share = Math.min(100, (100 * used) / room);
  return html`<span class=${`meter ${share > 90 ? "full" : ""}`} title="Tokens of this chat and the draft">
    <meter class="reader" min="0" max=${room} value=${used}>${used} of ${room}</meter>
    <span class="track" aria-hidden="true"><span style=${{ width: `${share}%` }}></span></span>
    <span aria-hidden="true">${count ? "≈ " : ""}${used.toLocaleString("en")}<span class="wide"> of ${room.toLocaleString("en")}</span></span>
  </span>`;
}
