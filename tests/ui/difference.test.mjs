// Where texts differ, in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { differences, firstDifference, wordsOf } from "../../ui/state/difference.js";

const first = (one, other, isOneWhole = true, isOtherWhole = true) =>
  firstDifference(wordsOf(one), wordsOf(other), isOneWhole, isOtherWhole);

test("the first word that differs is found, and none in equal texts", () => {
  assert.equal(first("the sea is calm", "the sea was calm"), 2);
  assert.equal(first("one", "two"), 0);
  assert.equal(first("the sea", "the  sea\n"), null);
  assert.equal(first("", ""), null);
});

test("a text that ends where the other goes on differs there", () => {
  assert.equal(first("the sea", "the sea is"), 2);
  assert.equal(first("the sea is", "the sea"), 2);
  assert.equal(first("", "the"), 0);
});

test("a text that is still written does not differ by what it lacks", () => {
  assert.equal(first("the sea is calm", "the se", true, false), null);
  assert.equal(first("the se", "the sea is", false, true), null);
  assert.equal(first("the se", "the so", false, false), null);
  assert.equal(first("the sea", "the sea is c", true, false), 2);
  assert.equal(first("the sea is c", "the sea", false, true), 2);
  assert.equal(first("a sky", "the se", false, false), 0);
  assert.equal(first("", "", false, false), null);
  assert.equal(first("the", "", true, false), null);
});

test("differences are the words between what both have", () => {
  assert.deepEqual(differences(["a", "b", "c"], ["a", "x", "y", "c"]), [{ oneStart: 1, oneStop: 2, start: 1, stop: 3 }]);
  assert.deepEqual(differences(["a", "b"], ["a", "b"]), []);
  assert.deepEqual(differences(["a", "b", "c", "d"], ["b", "c", "e", "d"]), [
    { oneStart: 0, oneStop: 1, start: 0, stop: 0 },
    { oneStart: 3, oneStop: 3, start: 2, stop: 3 },
  ]);
});

test("applying the differences to the one gives the other, for random texts", () => {
  let state = 1;
  const random = (below) => (state = (state * 48271) % 2147483647) % below;
  for (let round = 0; round < 500; round++) {
    const [one, other] = [0, 1].map(() => Array.from({ length: random(40) }, () => "abcd"[random(4)]));
    const made = [];
    let at = 0;
    for (const { oneStart, oneStop, start, stop } of differences(one, other)) {
      assert.ok(oneStart >= at);
      made.push(...one.slice(at, oneStart), ...other.slice(start, stop));
      at = oneStop;
    }
    assert.deepEqual([...made, ...one.slice(at)], other);
  }
});

test("texts with nothing in common are one difference, whatever their length", () => {
  const one = Array.from({ length: 3000 }, (_, at) => `a${at}`);
  const other = Array.from({ length: 3000 }, (_, at) => `b${at}`);
  assert.deepEqual(differences(one, other), [{ oneStart: 0, oneStop: 3000, start: 0, stop: 3000 }]);
});
