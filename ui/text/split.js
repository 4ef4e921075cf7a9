// Where the text that still grows can be cut: everything before its last block is final.

import { parser } from "./markdown.js";

/**
 * The text before the block that is still open, and what of it is new. env: definitions of closed text, kept.
 * @param {string} source from a block's start
 * @param {any} env
 * @returns {{closed: string, open: string}}
 */
export function split(source, env) {
  const starts = topLevel(parser.parse(source, { references: { ...env.references } }));
  const lines = source.split("\n");
  // The last block is sure to be one only once its first line is whole.
  while (starts.length && starts[starts.length - 1] >= lines.length - 1) starts.pop();
  if (starts.length < 2) return { closed: "", open: source };
  const cut = starts[starts.length - 1];
  const closed = `${lines.slice(0, cut).join("\n")}\n`;
  return { closed, open: source.slice(closed.length) };
}

/** The first line of each top-level block. @param {any[]} tokens */
function topLevel(tokens) {
  const starts = [];
  for (const token of tokens) if (token.level === 0 && token.nesting !== -1 && token.map) starts.push(token.map[0]);
  return starts;
}

/**
 * The fence that the text consists of and that nothing has closed; null: it is something else.
 * @param {string} open
 */
export function openFence(open) {
  const [tokens] = [parser.parse(open, {})];
  if (tokens.length !== 1 || tokens[0].type !== "fence" || !tokens[0].map || tokens[0].map[0] !== 0) return null;
  const opening = /^( {0,3})(`{3,}|~{3,})[^\n]*\n/.exec(open);
  if (!opening) return null;
  const closer = new RegExp(`^ {0,3}${opening[2][0]}{${opening[2].length},}[ \\t]*$`);
  const isClosed = open.slice(opening[0].length).split("\n").some((line) => closer.test(line));
  return isClosed || opening[1] ? null : { start: opening[0].length, closer, info: tokens[0].info };
}
