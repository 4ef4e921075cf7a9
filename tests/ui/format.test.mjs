// Numbers as people read them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axisWords, count, durationUpTo, lengthOf } from "../../ui/parts/format.js";

test("times of one axis have one unit", () => {
  const axis = (most) => [0, most / 3, (2 * most) / 3, most].map((value) => durationUpTo(value, most));
  assert.deepEqual(axis(0.12), ["0 ms", "40 ms", "80 ms", "120 ms"]);
  assert.deepEqual(axis(0.006), ["0.0 ms", "2.0 ms", "4.0 ms", "6.0 ms"]);
  assert.deepEqual(axis(1.2), ["0.0 s", "0.4 s", "0.8 s", "1.2 s"]);
  assert.deepEqual(axis(30), ["0 s", "10 s", "20 s", "30 s"]);
});

test("the numbers of an axis are a chart's words, or its own for an axis where it has them", () => {
  const values = [0, 100, 200, 300];
  assert.deepEqual(axisWords({ words: count }, values), ["0", "100", "200", "300"]);
  assert.deepEqual(axisWords({ words: count, axis: durationUpTo }, values), ["0 s", "100 s", "200 s", "300 s"]);
});

test("how far an answer came is counted as elsewhere", () => {
  const usage = { completion_tokens: 1716 };
  assert.equal(lengthOf({ usage, text: "", reasoning: "" }), "1,716 tokens");
  assert.equal(lengthOf({ usage: { ...usage, isCounted: true }, text: "", reasoning: "" }), "about 1,716 tokens");
});
