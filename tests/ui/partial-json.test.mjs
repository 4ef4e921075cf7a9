// Arguments of a tool as far as they have come.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readPartial } from "../../ui/parts/partial-json.js";

test("a value is read as far as it has come, wherever it is cut", () => {
  const whole = { city: 'K\u00f6ln "a\\b"', days: [1, 2.5, { deep: true, none: null }], empty: {}, "a,b": "x,y}" };
  const text = JSON.stringify(whole).replace("\u00f6", "\\u00f6");
  let known = 0;
  for (let at = 1; at < text.length; at += 1) {
    const { value, isWhole } = readPartial(text.slice(0, at));
    assert.equal(isWhole, false, text.slice(0, at));
    assert.equal(typeof value, "object", text.slice(0, at));
    const names = Object.keys(value);
    assert.deepEqual(names, Object.keys(whole).slice(0, names.length), text.slice(0, at));
    // What has come stays.
    assert(names.length >= known, text.slice(0, at));
    known = names.length;
    if (names.length > 1) assert.equal(value.city, whole.city);
  }
  assert.deepEqual(readPartial(text), { value: whole, isWhole: true });
});

test("a string grows in the middle of an escape", () => {
  for (const cut of ['{"a": "b\\', '{"a": "b\\u', '{"a": "b\\u00', '{"a": "b']) assert.deepEqual(readPartial(cut).value, { a: "b" }, cut);
  assert.deepEqual(readPartial('{"a": "b\\\\').value, { a: "b\\" });
});

test("what is no JSON has no value", () => {
  for (const text of ["city=K\u00f6ln", "<x>", "{a: 1}]", ""]) assert.equal(readPartial(text).value, undefined, text);
});
