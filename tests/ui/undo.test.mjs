// Undo: of several things that were done each has its way back, the latest first, for as long as one alone.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

mock.timers.enable({ apis: ["setTimeout"] });
const { announcement, offerUndo, undoable } = await import("../../ui/state/session.js");
const { undo } = await import("../../ui/state/undo.js");
const texts = () => undoable.value.map(({ text }) => text);
/** Until what was begun has ended. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("each Undo takes back the latest, and the one before is offered then", async () => {
  const done = [];
  for (const name of ["one", "two", "three"]) offerUndo(name, () => done.push(name));
  assert.deepEqual(texts(), ["three", "two", "one"]);
  undo();
  assert.deepEqual(texts(), ["two", "one"]);
  assert.equal(announcement.value.text, "two. Undo is offered.");
  undo();
  undo();
  undo();
  await settled();
  assert.deepEqual([done, texts()], [["three", "two", "one"], []]);
});

test("what was done before is undone once the later is", async () => {
  const done = [];
  let end = () => {};
  offerUndo("one", () => done.push("one"));
  offerUndo("two", () => new Promise((resolve) => (end = resolve)).then(() => done.push("two")));
  undo();
  undo();
  await settled();
  assert.deepEqual(done, []);
  end();
  await settled();
  assert.deepEqual(done, ["two", "one"]);
});

test("what is offered is offered ten seconds from the latest that was done or undone", async () => {
  offerUndo("one", () => {});
  mock.timers.tick(9000);
  offerUndo("two", () => {});
  mock.timers.tick(9000);
  undo();
  mock.timers.tick(9999);
  assert.deepEqual(texts(), ["one"]);
  mock.timers.tick(1);
  assert.deepEqual(texts(), []);
});
