// What a person has the server do with its model.

import assert from "node:assert/strict";
import { test } from "node:test";

const { failure, models, reload, unload } = await import("../../ui/state/server.js");

/** Lets all go on that waits for no time. */
const settle = async () => {
  for (let round = 0; round < 50; round += 1) await new Promise(setImmediate);
};

test("an order that is pressed twice is given once, and can be given again", async () => {
  const asked = [];
  const answers = [];
  globalThis.fetch = (path, { method }) => {
    // What the page looks at afterwards: which models there are.
    if (method !== "POST") return new Promise(() => {});
    asked.push(String(path).replace(/.*\//, ""));
    return new Promise((resolve) => answers.push(() => resolve(Response.json({}))));
  };
  const answer = async () => {
    await settle();
    answers.shift()();
    await settle();
  };
  models.value = [{ id: "m", loaded: true }];
  reload();
  reload();
  await settle();
  assert.deepEqual(asked, ["unload"]);
  await answer();
  await answer();
  assert.deepEqual(asked, ["unload", "switch"]);
  assert.equal(failure.value, "");
  unload();
  unload();
  await answer();
  unload();
  await answer();
  assert.deepEqual(asked, ["unload", "switch", "unload", "unload"]);
});
