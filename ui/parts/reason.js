// Why something failed: whole where it is short, else in a few words with the rest behind them.

import { html } from "./html.js";

const MAX_LENGTH = 160;

/** @param {{text: string, short: string}} properties short: what is said in place of a long one */
export function Reason({ text, short }) {
  if (text.length <= MAX_LENGTH) return text;
  return html`${short}<details class="reason"><summary>Why</summary>${text}</details>`;
}
