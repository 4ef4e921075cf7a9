// Characters that nobody can see, or that turn the order of others, as marks where they matter: in code.

// Controls, soft hyphens and fillers, zero-width characters, bidirectional controls, tags; not tab and newline.
const UNSEEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
// A run of them has one mark: a mark each would make a page of a word.
const RUNS = new RegExp(`(?:${UNSEEN.source})+`, "gu");
const MAX_NAMED = 3;

/**
 * Appends text to what the node ends with; unseen characters stand in an element that names their code point.
 * @param {Node} into @param {string} text
 */
export function appendMarked(into, text) {
  if (!UNSEEN.test(text)) return appendText(into, text);
  let at = 0;
  for (const { 0: run, index } of text.matchAll(RUNS)) {
    appendText(into, text.slice(at, index));
    addMark(into, run);
    at = index + run.length;
  }
  appendText(into, text.slice(at));
}

/** @param {Node} into @param {string} text */
function appendText(into, text) {
  if (!text) return;
  const { lastChild } = into;
  if (lastChild instanceof Text) lastChild.appendData(text);
  else into.appendChild(document.createTextNode(text));
}

/** A run may come in pieces. @param {Node} into @param {string} run */
function addMark(into, run) {
  const last = into.lastChild;
  const isMark = last instanceof HTMLElement && last.className === "mark";
  const mark = isMark ? last : /** @type {HTMLElement} */ (into.appendChild(document.createElement("span")));
  mark.className = "mark";
  mark.textContent += run;
  // Drawn by the style sheet, so that what is copied and found is the text itself.
  mark.dataset.point = nameOf([...mark.textContent]);
}

/** @param {string[]} characters */
function nameOf(characters) {
  const names = characters.slice(0, MAX_NAMED).map((each) => `U+${/** @type {number} */ (each.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0")}`);
  return names.join(" ") + (characters.length > MAX_NAMED ? ` and ${characters.length - MAX_NAMED} more` : "");
}
