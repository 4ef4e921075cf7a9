// The reasoning of an answer: one line of fixed height that never opens or closes by itself.

import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Reasoning({ turn }) {
  const [isOpen, setOpen] = useState(false);
  const [, tick] = useState(0);
  const state = turn.state.value;
  useEffect(() => {
    if (state !== "THINKING") return;
    const timer = setInterval(() => tick((count) => count + 1), 100);
    return () => clearInterval(timer);
  }, [state]);
  const { reasoning, times, usage } = turn.record;
  if (!reasoning) return null;
  const seconds = (((times.text ?? times.thought ?? times.sent) - (times.first ?? times.sent)) / 1000).toFixed(1);
  const tokens = usage?.completion_tokens_details?.reasoning_tokens;
  return html`<div class="reasoning">
    <button type="button" class="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      <${Icon} name="thought" />${state === "THINKING" ? "Thinking" : "Thought for"} ${seconds} s
      ${tokens ? html`<span class="about">${tokens.toLocaleString("en")} tokens</span>` : null}
      <${Icon} name=${isOpen ? "down" : "right"} />
    </button>
    ${isOpen && html`<div class="thoughts" tabindex="0" dir="auto">${reasoning}</div>`}
  </div>`;
}
