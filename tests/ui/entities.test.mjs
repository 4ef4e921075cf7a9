// Characters written by their name: those that are known are what they stand for, all others stay as they were written.

import assert from "node:assert/strict";
import test from "node:test";

import { parser } from "../../ui/text/markdown.js";

/** What stands in a paragraph: its words, and its elements by their tags. */
function written(source) {
  const attributes = (token) => (token.attrs ?? []).map(([name, value]) => ` ${name}=${value}`).join("");
  const show = (token) => (token.nesting < 0 ? `</${token.tag}>` : token.tag ? `<${token.tag}${attributes(token)}>${token.content}` : token.content);
  return parser.parse(source, {})[1].children.map(show).join("");
}

test("a character may be written by its name or its number", () => {
  assert.equal(written("&nbsp;&Eacute;&yuml;&rarr;&hellip;&check;&vert;&lbrace;&apos;"), "\u00a0Éÿ→…✓|{'");
  assert.equal(written("&amp;&lt;b&gt;&quot; &#65;&#x1F600;"), '&<b>" A😀');
  assert.equal(written('[a](https://b/?x&auml;y "&copy;")'), "<a href=https://b/?x%C3%A4y title=©>a</a>");
});

test("what is no name of one stays, and so does all of code", () => {
  assert.equal(written("&nosuch; &amp &constructor; AT&T;"), "&nosuch; &amp &constructor; AT&T;");
  assert.equal(written("`&rarr;`"), "<code>&rarr;");
});

test("a mark beside a sign of currency or mathematics is one as beside any other sign", () => {
  assert.equal(written("**€5**a **𝜵** **∑**."), "<strong>€5</strong>a <strong>𝜵</strong> <strong>∑</strong>.");
  for (const sign of "€∑+") assert.equal(written(`a**${sign}**b`), `a**${sign}**b`);
  assert.equal(written("a**5**b"), "a<strong>5</strong>b");
});
