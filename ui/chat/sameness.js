// Whether an answer that was asked for once more came out the same, and the way to where it does not.

import { html } from "../parts/html.js";
import { turns } from "../state/tree.js";
import { firstDifference } from "../state/replay.js";
import { markdownOf } from "../state/turn.js";

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Sameness({ turn }) {
  const { sameAs, text } = turn.record;
  const other = sameAs ? turns.value.get(sameAs) : undefined;
  if (!other || turn.state.value !== "DONE") return null;
  const at = firstDifference(other.record.text, text);
  if (at === null) return html`<p class="ending same-as" role="status">Identical</p>`;
  const word = text.slice(0, at).split(/\S+/).length;
  return html`<p class="ending same-as" role="status">Differs from word ${word}
    <button type="button" class="link" onClick=${(/** @type {Event} */ event) => show(event, markdownOf(turn.record, text.slice(0, at)))}>Show</button></p>`;
}

/** Selects the word that follows that text and brings it into view. @param {Event} event @param {string} before */
async function show(event, before) {
  const prose = /** @type {HTMLElement} */ (event.currentTarget).closest(".turn")?.querySelector(".prose");
  if (!prose) return;
  // What is written and what is shown differ by the marks of Markdown: the same text is drawn to count what it shows.
  const { AnswerText } = await import("../text/sheet.js");
  const drawn = new AnswerText();
  drawn.show(before);
  drawn.end();
  let left = (drawn.element.textContent ?? "").trimEnd().length;
  const walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const length = node.textContent?.length ?? 0;
    if (left < length) {
      const word = /\S+/g;
      word.lastIndex = left;
      const found = word.exec(node.textContent ?? "");
      if (found) {
        getSelection()?.setBaseAndExtent(node, found.index, node, found.index + found[0].length);
        node.parentElement?.scrollIntoView({ block: "center" });
        return;
      }
    }
    left = Math.max(0, left - length);
  }
}
