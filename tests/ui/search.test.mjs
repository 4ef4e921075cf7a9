// Words found in turns and in names.

import assert from "node:assert/strict";
import { test } from "node:test";

import { rangeProblem, rangeWords } from "../../ui/state/range.js";
import { matching } from "../../ui/parts/matching.js";
import { hitIn, matcher } from "../../ui/store/search.js";

const turn = (text, reasoning = "") => ({ id: "t", conversation: "c", role: "assistant", created: 1, text, reasoning });

test("a hit has its match and some words around it", () => {
  const hit = hitIn(turn(`${"a ".repeat(50)}The Tide\n turns here`), matcher("tide turns"));
  assert.equal(hit.match, "Tide turns");
  assert.equal(hit.after, " here");
  assert(hit.before.startsWith("…") && hit.before.endsWith(" a The ") && hit.before.length < 70);
  assert.equal(hitIn(turn("", "it thinks of Äpfel"), matcher("äpfel")).match, "Äpfel");
  assert.equal(hitIn(turn("nothing"), matcher("some")), null);
});

test("signs of an expression are signs", () => {
  assert.equal(matcher("  "), null);
  assert.equal(hitIn(turn("costs $5 (or [6]) a*b"), matcher("$5 (or [6]) a*")).match, "$5 (or [6]) a*");
  assert.equal(hitIn(turn("aab"), matcher("a*b")), null);
  assert.equal(hitIn(turn("C:\\dir"), matcher("C:\\dir")).match, "C:\\dir");
});

test("letters that change their length in lower case move no hit", () => {
  assert.equal(hitIn(turn("İİİİ here"), matcher("HERE")).match, "here");
});

test("what is meant has all the words; names that begin with them come first", () => {
  const groups = [
    { name: "Actions", items: [{ label: "New chat" }, { label: "Top of all", about: "p" }] },
    { name: "Fields", items: [{ label: "min_p", about: "Drop tokens", words: "min p" }, { label: "top_p", about: "Draw among", words: "top p" }] },
  ];
  const found = (words) => matching(groups, words, 5).map(({ name, items }) => [name, items.map(({ label }) => label)]);
  assert.deepEqual(found("top p"), [["Actions", ["Top of all"]], ["Fields", ["top_p"]]]);
  assert.deepEqual(found("draw AMONG"), [["Fields", ["top_p"]]]);
  assert.deepEqual(found("nothing of it"), []);
  assert.deepEqual(found("min"), [["Fields", ["min_p"]]]);
  assert.deepEqual(matching(groups, "", 1).map(({ items }) => items.length), [1, 1]);
});

test("a number says its range where it is outside of it", () => {
  const share = { minimum: 0, maximum: 1, type: "number" };
  assert.equal(rangeProblem(1.5, share), "From 0 to 1");
  assert.equal(rangeProblem(1, share), "");
  assert.equal(rangeProblem(undefined, share), "");
  assert.equal(rangeProblem(0, { minimum: 1, type: "integer" }), "1 or more");
  assert.equal(rangeProblem(2.5, { minimum: 1, type: "integer" }), "A whole number");
  assert.equal(rangeProblem(3, undefined), "");
  assert.equal(rangeProblem(1e21, { minimum: 1, type: "integer" }), "Too large a number");
  assert.equal(rangeProblem(0, { above: 0, maximum: 10, type: "number" }), "More than 0, 10 at most");
  assert.equal(rangeProblem(0.01, { above: 0, maximum: 10, type: "number" }), "");
  assert.equal(rangeWords({ minimum: -1, maximum: 2147483647 }), "From -1 to 2,147,483,647");
});
