// What charts draw: gaps where nothing is known, and no two lines that some eyes see as one.

import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsOf } from "../../ui/monitor/columns.js";
import { Ring } from "../../ui/state/ring.js";
import { ring } from "../../ui/state/samples.js";

globalThis.matchMedia = /** @type {any} */ (() => ({ matches: false, addEventListener() {} }));
const { Charts } = await import("../../ui/monitor/charts.js");
const charts = ["first", "pages", "rest"].flatMap((of) => Charts({ of }).props.children.map((/** @type {any} */ card) => card.props.chart));
/** For red-green blindness the two of each are one colour. */
const ALIKE = [[1, 5], [2, 4]];

test("a sample that did not come is a gap and no line through nothing", () => {
  const ring = new Ring(4);
  const sample = (/** @type {number} */ value) => ({ families: new Map(), values: new Map([["a", value]]) });
  for (const [time, value] of [[1, 5], [2, null], [3, 0], [4, 7]]) ring.add(Number(time), value === null ? null : sample(value));
  const read = (/** @type {number} */ index) => ring.at("a", index);
  const lines = [{ label: "a", colour: 1, read }, { label: "on a", colour: 2, read, draw: (/** @type {number} */ index) => 2 * read(index) }];
  assert.deepEqual(columnsOf(ring, lines, 0, 4), [[1, 2, 3, 4], [5, null, 0, 7], [10, null, 0, 14]]);
  assert.deepEqual(columnsOf(ring, lines, 2, 3), [[3], [0], [0]]);
});

test("no chart has two colours that some eyes see as one", () => {
  assert(charts.length > 5);
  for (const { title, lines } of charts) {
    const colours = lines.map((/** @type {any} */ line) => line.colour);
    assert.equal(new Set(colours).size, colours.length, title);
    for (const pair of ALIKE) assert(!pair.every((colour) => colours.includes(colour)), title);
  }
});

test("prefix hits are shown by the tier that had them", () => {
  const hits = (/** @type {string} */ tier) => `ignis_retained_state_hits_total{tier="${tier}"}`;
  for (const [time, device, host] of [[10, 4, 1], [12, 10, 2]]) ring.add(Number(time), { families: new Map(), values: new Map([[hits("device"), device], [hits("kv_ram"), host]]) });
  const { lines } = charts.find(({ title }) => title === "Prefix hits each second");
  assert.deepEqual(lines.map((/** @type {any} */ line) => [line.label, line.read(ring.last)]), [["on the device", 3], ["in host memory", 0.5]]);
});
