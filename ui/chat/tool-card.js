// One call of a tool: its name, and its arguments as they were written.

import { html } from "../parts/html.js";
import { Icon } from "../shell/icons.js";

/** @param {{call: {name: string, arguments: string}}} properties */
export function ToolCard({ call }) {
  return html`<div class="tool-card">
    <p><${Icon} name="tool" /><strong>${call.name || "tool"}</strong></p>
    <pre tabindex="0">${pretty(call.arguments)}</pre>
  </div>`;
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Still being written, or not what was asked for: shown as it is.
    return text;
  }
}
