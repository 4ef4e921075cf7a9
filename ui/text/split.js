// Where the text that still grows can be cut: everything before its last block is final.

import { outline, scratch } from "./markdown.js";

/**
 * The text before the block that is still open, and that block's. blocks: those of the open part where nothing closed,
 * which saves the next step from finding them again.
 * @param {string} source from a block's start
 * @param {any} env definitions of closed text
 * @returns {{closed: string, open: string, blocks: any[] | null}}
 */
export function split(source, env) {
  const blocks = outline(source, scratch(env));
  const closed = source.slice(0, cutOf(source, blocks));
  return { closed, open: source.slice(closed.length), blocks: closed ? null : blocks };
}

/** @param {string} source @param {any[]} blocks */
function cutOf(source, blocks) {
  const starts = topLevel(blocks);
  if (starts.length < 2) return 0;
  const offsets = lineStarts(source);
  for (let index = starts.length - 1; index > 0; index -= 1) {
    const line = starts[index].map[0];
    // The last block is sure to be one only once its first line is whole.
    if (line >= offsets.length - 1) continue;
    // A definition's title may have begun on the line after it, which is a paragraph until the title ends.
    const isAfterDefinition = starts[index - 1].type === "reference_definition" && starts[index - 1].map[1] === line;
    if (!isAfterDefinition || !starts[index].type.startsWith("paragraph")) return offsets[line];
  }
  return 0;
}

/** The token that opens each top-level block. @param {any[]} tokens @returns {any[]} */
export function topLevel(tokens) {
  return tokens.filter((token) => token.level === 0 && token.nesting !== -1 && token.map);
}

/** The blocks of a text, each as its tokens. @param {any[]} tokens @returns {any[][]} */
export function byBlock(tokens) {
  /** @type {any[][]} */
  const blocks = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting !== -1) blocks.push([]);
    blocks[blocks.length - 1].push(token);
  }
  return blocks;
}

/** Where each line starts; the last one is what follows the last newline. @param {string} source */
export function lineStarts(source) {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/**
 * The fence that the text consists of and that nothing has closed; null: it is something else.
 * @param {string} open @param {any[]} blocks its blocks
 */
export function openFence(open, blocks) {
  const stop = open.indexOf("\n");
  const mark = open[0];
  if (stop < 0 || blocks.length !== 1 || blocks[0].type !== "fence" || (mark !== "`" && mark !== "~")) return null;
  let length = 0;
  while (open[length] === mark) length += 1;
  const isClosing = (/** @type {string} */ line) => {
    const trimmed = line.trim();
    return trimmed.length >= length && line.search(/\S/) < 4 && trimmed === mark.repeat(trimmed.length);
  };
  const isClosed = open.slice(stop + 1).split("\n").some(isClosing);
  return isClosed ? null : { start: stop + 1, isClosing, info: blocks[0].info };
}
