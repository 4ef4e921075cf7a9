// The parser of model text: Markdown without raw HTML, in two steps, so that only what is drawn is read to its end.

import MarkdownIt from "../vendor/markdown-it.js";
import "./entities.js";
import { readFormula, readFormulaBlock } from "./formula-rules.js";
import { isAllowed } from "./links.js";
import { readTags } from "./tags.js";

const MAX_NESTING = 40;
/** What finds blocks; the others read what stands in them. */
const BLOCK_STEPS = ["normalize", "block"];

/** Both steps at once. */
export const parser = made();
const outliner = made();
outliner.core.ruler.enableOnly(BLOCK_STEPS);
const reader = made();
reader.core.ruler.disable(BLOCK_STEPS);

/**
 * The blocks of a text, whose words are still unread; definitions of links are tokens of their own.
 * @param {string} source @param {any} env collects the definitions
 * @returns {any[]}
 */
export function outline(source, env) {
  return outliner.parse(source, env);
}

/**
 * Reads the words of blocks. Returns tokens that can be built.
 * @param {any[]} blocks @param {any} env the definitions that links may use
 * @returns {any[]}
 */
export function read(blocks, env) {
  const state = new reader.core.State("", reader, env);
  state.tokens = blocks;
  reader.core.process(state);
  return state.tokens;
}

/** A scope for definitions that may yet change: it sees those of env and adds nothing to them. @param {any} env */
export function scratch(env) {
  return { references: Object.create(env.references) };
}

function made() {
  const parser = new MarkdownIt({ html: false, linkify: true, maxNesting: MAX_NESTING });
  // With them main.py would become a link.
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  parser.validateLink = isAllowed;
  parser.block.ruler.before("table", "too_deep", readTooDeep, { alt: ["blockquote", "list"] });
  parser.block.ruler.before("paragraph", "formula_block", readFormulaBlock, { alt: ["paragraph", "reference", "blockquote", "list"] });
  parser.inline.ruler.before("escape", "formula", readFormula);
  parser.core.ruler.before("text_join", "tags", readTags);
  return parser;
}

/**
 * What is nested deeper than the parser goes, which it would drop, as it was written.
 * @param {any} state @param {number} first @param {number} last @param {boolean} isSilent
 */
function readTooDeep(state, first, last, isSilent) {
  if (state.level < MAX_NESTING - 2) return false;
  if (isSilent) return true;
  const token = state.push("too_deep", "", 0);
  token.content = state.getLines(first, last, state.blkIndent, false);
  token.map = [first, last];
  state.line = last;
  return true;
}
