// What a tree of a value shows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isTooDeep } from "../../ui/parts/tree.js";

const nested = (/** @type {number} */ depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth));

test("a value of any depth is measured, and only a deep one is too deep", () => {
  for (const value of [undefined, null, "x", [], { a: null, b: [1, { c: "x" }] }, nested(20)]) assert.equal(isTooDeep(value), false);
  for (const depth of [100, 20_000, 1_000_000]) assert.equal(isTooDeep({ a: 1, b: nested(depth) }), true);
});
