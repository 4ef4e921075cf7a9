// Where a formula begins and ends in a text: rules for the parser.

const MAX_LENGTH = 1000;
const AMOUNT = /^\s*[\d.,]+\s*[a-zA-Z%]*\s/;

/**
 * The formula that starts there: its source, where it ends, whether it stands alone. null: it is none.
 * @param {string} text @param {number} start
 */
export function formulaAt(text, start) {
  if (text.startsWith("\\(", start)) return upTo(text, start, 2, "\\)", false);
  if (text.startsWith("\\[", start)) return upTo(text, start, 2, "\\]", true);
  if (text.startsWith("$$", start)) return upTo(text, start, 2, "$$", true);
  if (text[start] !== "$" || /\s|^$/.test(text[start + 1] ?? "")) return null;
  for (let at = start + 1; at < text.length && at - start <= MAX_LENGTH; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "$") {
      const source = text.slice(start + 1, at);
      // $5 and $6 are prices: a formula neither ends after a space nor before a word, and is no amount.
      if (/\s$/.test(source) || /[\p{L}\p{N}]/u.test(text[at + 1] ?? "") || AMOUNT.test(source)) return null;
      return { source, end: at + 1, isDisplay: false };
    }
  }
  return null;
}

/** The text that was looked at last, and the closers that it lacks from a place on: thousands of openers look once. */
let lacking = { text: "", from: new Map() };

/** @param {string} text @param {number} start @param {number} width @param {string} closer @param {boolean} isDisplay */
function upTo(text, start, width, closer, isDisplay) {
  if (lacking.text !== text) lacking = { text, from: new Map() };
  if (start >= lacking.from.get(closer)) return null;
  const end = text.indexOf(closer, start + width);
  if (end < 0) lacking.from.set(closer, start);
  if (end < 0 || end === start + width) return null;
  return { source: text.slice(start + width, end), end: end + closer.length, isDisplay };
}

/** @param {any} state @param {boolean} isSilent */
export function readFormula(state, isSilent) {
  const found = formulaAt(state.src, state.pos);
  if (!found || found.end > state.posMax) return false;
  if (!isSilent) {
    const token = state.push("formula", "", 0);
    token.content = found.source;
    token.markup = state.src.slice(state.pos, found.end);
    token.meta = { isDisplay: found.isDisplay };
  }
  state.pos = found.end;
  return true;
}

/**
 * Lines from one that opens with $$ or \[ to the one that closes, or to an empty line: what a line belongs to is decided
 * by it and those before, so that a formula that is still being written takes no line that it has to give back.
 * @param {any} state @param {number} first @param {number} last @param {boolean} isSilent
 */
export function readFormulaBlock(state, first, last, isSilent) {
  const lineAt = (/** @type {number} */ line) => state.src.slice(state.bMarks[line] + state.tShift[line], state.eMarks[line]);
  const opening = lineAt(first);
  const closer = opening.startsWith("$$") ? "$$" : opening.startsWith("\\[") ? "\\]" : null;
  if (!closer || state.sCount[first] - state.blkIndent >= 4) return false;
  const onLine = opening.indexOf(closer, 2);
  if (onLine >= 0 && opening.slice(onLine + 2).trim()) return false;
  if (isSilent) return true;
  let line = first;
  let isClosed = onLine >= 0;
  const lines = [opening];
  while (!isClosed && line + 1 < last && !state.isEmpty(line + 1) && state.sCount[line + 1] >= state.blkIndent) {
    line += 1;
    lines.push(lineAt(line));
    isClosed = lineAt(line).trimEnd().endsWith(closer);
  }
  const token = state.push("formula_block", "", 0);
  token.block = true;
  token.markup = lines.join("\n");
  token.content = isClosed ? token.markup.trimEnd().slice(2, -2) : "";
  token.meta = { isClosed, isDisplay: true };
  token.map = [first, line + 1];
  state.line = line + 1;
  return true;
}
