// Characters written by their name: those that are known are what they stand for, all others stay as they were written.

import assert from "node:assert/strict";
import test from "node:test";

import { parser } from "../../ui/text/markdown.js";

const rendered = (source) => parser.render(source).trim();

test("a character may be written by its name or its number", () => {
  assert.equal(rendered("&nbsp;&Eacute;&yuml;&rarr;&hellip;&check;&vert;&lbrace;&apos;"), "<p>\u00a0Éÿ→…✓|{'</p>");
  assert.equal(rendered("&amp;&lt;b&gt;&quot; &#65;&#x1F600;"), "<p>&amp;&lt;b&gt;&quot; A😀</p>");
  assert.equal(rendered('[a](https://b/?x&auml;y "&copy;")'), '<p><a href="https://b/?x%C3%A4y" title="©">a</a></p>');
});

test("what is no name of one stays, and so does all of code", () => {
  assert.equal(rendered("&nosuch; &amp &constructor; AT&T;"), "<p>&amp;nosuch; &amp;amp &amp;constructor; AT&amp;T;</p>");
  assert.equal(rendered("`&rarr;`"), "<p><code>&amp;rarr;</code></p>");
});

test("a mark beside a sign of currency or mathematics is one as beside any other sign", () => {
  assert.equal(rendered("**€5**a **𝜵** **∑**."), "<p><strong>€5</strong>a <strong>𝜵</strong> <strong>∑</strong>.</p>");
  for (const sign of "€∑+") assert.equal(rendered(`a**${sign}**b`), `<p>a**${sign}**b</p>`);
  assert.equal(rendered("a**5**b"), "<p>a<strong>5</strong>b</p>");
});
