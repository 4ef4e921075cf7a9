// A text of any length in pieces: the browser lays out those that are seen.

import { html } from "./html.js";

const MAX_WHOLE = 16_000;
/** Up to the end of a line, or of a word, or anywhere. */
const PIECE = /[^]{1000,7999}\n|[^]{1000,7999} |[^]{1,8000}/gu;

/** @param {{text: string}} properties */
export function Long({ text }) {
  if (text.length <= MAX_WHOLE) return text;
  return (text.match(PIECE) ?? []).map((piece, at) => html`<span class="piece" key=${at}>${piece}</span>`);
}
