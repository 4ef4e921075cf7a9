// The reasoning of an answer: one line of fixed height, opened by hand only; opened, it streams in a box of its own.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { useTicks } from "../parts/ticks.js";
import { follow } from "../text/frame.js";
import { Icon } from "./icons.js";

const NEAR_PX = 24;

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Thoughts({ turn }) {
  const [isOpen, setOpen] = useState(false);
  const state = turn.state.value;
  useTicks(state === "THINKING");
  const { reasoning, times, usage, forcedAt } = turn.record;
  if (!reasoning) return null;
  // One that is asked for once more has thought for no time yet.
  const seconds = times.first === null ? "" : `${(((times.text ?? times.thought ?? times.first) - times.first) / 1000).toFixed(1)} s`;
  // The server's count comes with the end.
  const { reasoning_tokens: count = turn.numThoughts, rewound_tokens: rewound } = usage?.completion_tokens_details ?? {};
  const said = [
    seconds,
    count ? `${count.toLocaleString("en")} ${count === 1 ? "token" : "tokens"}` : "",
    forcedAt === undefined || forcedAt === null ? "" : "ended at its limit",
    rewound ? `${rewound.toLocaleString("en")} tokens of a loop taken back` : "",
  ];
  return html`<div class="thinking">
    <button type="button" class="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      <${Icon} name="thought" />${state === "THINKING" ? "Thinking" : seconds ? "Thought for" : "Thought"} ${said.filter(Boolean).join(" · ")}
      <${Icon} name=${isOpen ? "down" : "right"} />
    </button>
    ${isOpen && html`<${Box} turn=${turn} />`}
  </div>`;
}

/** Text is only added to it, so that a selection stays; it follows its own end while that is in view. @param {{turn: import("../state/turn.js").Turn}} properties */
function Box({ turn }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const box = /** @type {HTMLElement} */ (place.current);
    const text = document.createTextNode("");
    box.replaceChildren(text);
    const draw = () => {
      const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
      text.appendData(turn.record.reasoning.slice(text.length));
      if (isAtEnd && turn.isRunning) box.scrollTop = box.scrollHeight;
      return turn.isRunning;
    };
    draw();
    return follow({ draw });
  }, [turn, turn.isRunning]);
  return html`<div class="thoughts" ref=${place} tabindex="0" role="region" aria-label="Thoughts" dir="auto"></div>`;
}
