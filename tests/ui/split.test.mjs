// Text that is cut while it grows is read as it would be whole.

import assert from "node:assert/strict";
import { test } from "node:test";

import { formulaAt } from "../../ui/text/formula-rules.js";
import { outline, parser } from "../../ui/text/markdown.js";
import { openFence, split } from "../../ui/text/split.js";
import { FRAGMENTS, numbers, shape } from "./fragments.mjs";

/** Reads a text in pieces as the page does. */
function readInPieces(text, random) {
  const env = { references: {} };
  const tokens = [];
  let open = "";
  for (let at = 0; at < text.length; ) {
    const piece = text.slice(at, at + 1 + Math.floor(random() * 12));
    at += piece.length;
    const cut = split(open + piece, env);
    if (cut.closed) tokens.push(...parser.parse(cut.closed, env));
    open = cut.open;
  }
  return [...tokens, ...parser.parse(open, env)];
}

test("closed blocks never change, wherever the text was cut", () => {
  const random = numbers(7);
  for (let round = 0; round < 1500; round += 1) {
    const parts = Array.from({ length: 2 + Math.floor(random() * 7) }, () => FRAGMENTS[Math.floor(random() * FRAGMENTS.length)]);
    const text = parts.map((part) => part + (random() < 0.75 ? "\n\n" : "\n")).join("");
    assert.deepEqual(shape(readInPieces(text, random)), shape(parser.parse(text, {})), JSON.stringify(text));
  }
});

test("a fence is open until its own closer", () => {
  const fence = (text) => openFence(text, outline(text, {}));
  assert.equal(fence("```py\nx = 1\n")?.info, "py");
  assert.equal(fence("````\n```\n")?.start, 5);
  assert.equal(fence("```\nx\n```\n"), null);
  assert.equal(fence("words\n"), null);
});

test("prices are not formulas", () => {
  const isFormula = (text) => formulaAt(text, text.indexOf("$")) !== null;
  for (const text of ["$5 and $6", "$5", "costs $20 USD or $30", "$ 5$", "$a $b", "from $10k to $20k", "$PATH and ${HOME}", "$5 or 6$.", "US$7 and 8$ a head", "$20 USD, not 30$"]) assert(!isFormula(text), text);
  for (const text of ["$x$", "$x_i^2$ is", "($\\alpha$)", "$5x+1$.", "$$y$$"]) assert(isFormula(text), text);
});

test("names of files and hosts are no links, addresses are", () => {
  const links = (text) => parser.parse(text, {})[1].children.filter(({ type }) => type === "link_open").map((token) => token.attrGet("href"));
  assert.deepEqual(links("main.py, www.example.org, example.com/a and someone@example.org"), []);
  assert.deepEqual(links("see https://example.org/a."), ["https://example.org/a"]);
});

test("what is nested too deep is shown as it was written", () => {
  const words = (tokens) => tokens.map((token) => token.content).join("");
  assert.match(words(parser.parse(`${">".repeat(500)} the end`, {})), /the end/);
  const list = Array.from({ length: 60 }, (_, depth) => `${"  ".repeat(depth)}- level ${depth}`).join("\n");
  for (const depth of [0, 20, 59]) assert.match(words(parser.parse(list, {})), new RegExp(`level ${depth}`));
});

test("tags of a text are no deeper than anybody writes", () => {
  const tags = (text) => parser.parse(text, {})[1].children.filter(({ type }) => type === "tag_open").length;
  assert.equal(tags("<sub>".repeat(3) + "x" + "</sub>".repeat(3)), 3);
  assert.equal(tags("<sub>".repeat(9) + "x" + "</sub>".repeat(9)), 4);
});
