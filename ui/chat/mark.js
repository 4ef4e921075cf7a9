// Where in a turn's text the words of a search are: marked, and brought into view.

import { searched } from "../state/search.js";

const NAME = "found";
/** As long as a text that is gone to may take to be drawn. */
const TRIES = 100;
const PAUSE_MS = 20;

/** @param {Element} place the turn as it is drawn */
export async function markIn(place) {
  CSS.highlights?.delete(NAME);
  const words = searched.value.words.trim().split(/\s+/).filter(Boolean);
  if (!words.length) return;
  // Between two words there may be the end of a paragraph, which is no character of the page.
  const wanted = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s*"), "iu");
  for (let left = TRIES; left > 0; left -= 1) {
    const range = rangeOf(place, wanted);
    if (range) {
      CSS.highlights?.set(NAME, new Highlight(range));
      range.startContainer.parentElement?.scrollIntoView({ block: "center" });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** @param {Element} place @param {RegExp} wanted */
function rangeOf(place, wanted) {
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  /** @type {{node: Node, start: number}[]} */
  const nodes = [];
  let text = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push({ node, start: text.length });
    text += node.nodeValue;
  }
  const found = wanted.exec(text);
  if (!found) return null;
  const range = document.createRange();
  const at = (/** @type {number} */ offset) => {
    const { node, start } = /** @type {{node: Node, start: number}} */ (nodes.findLast(({ start: from }) => from <= offset));
    return /** @type {const} */ ([node, offset - start]);
  };
  range.setStart(...at(found.index));
  const [last, end] = at(found.index + found[0].length - 1);
  range.setEnd(last, end + 1);
  return range;
}
