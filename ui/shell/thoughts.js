// The reasoning of an answer outside of the chat: one line of fixed height, opened by hand only.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { Icon } from "./icons.js";

const TICK_MS = 250;

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Thoughts({ turn }) {
  const [isOpen, setOpen] = useState(false);
  const [, tick] = useState(0);
  const state = turn.state.value;
  useEffect(() => {
    if (state !== "THINKING") return;
    const timer = setInterval(() => tick((count) => count + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [state]);
  const { reasoning, times, usage } = turn.record;
  if (!reasoning) return null;
  const seconds = (((times.text ?? times.thought ?? times.sent) - (times.first ?? times.sent)) / 1000).toFixed(1);
  const tokens = usage?.completion_tokens_details?.reasoning_tokens;
  return html`<div class="thinking">
    <button type="button" class="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      <${Icon} name="thought" />${state === "THINKING" ? "Thinking" : "Thought for"} ${seconds} s
      ${tokens ? html`<span class="about">${tokens.toLocaleString("en")} tokens</span>` : null}
      <${Icon} name=${isOpen ? "down" : "right"} />
    </button>
    ${isOpen && html`<div class="thoughts" tabindex="0" role="region" aria-label="Thoughts" dir="auto">${reasoning}</div>`}
  </div>`;
}
