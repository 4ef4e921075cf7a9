// A server that is away is asked again more and more seldom, and at once where a person wants it.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { client } from "../../ui/api/client.js";
import { nextTryAt, watch } from "../../ui/state/server.js";
import { lostAt } from "../../ui/state/session.js";

/** Lets all go on that waits for no time. */
const settle = async () => {
  for (let round = 0; round < 50; round += 1) await Promise.resolve();
};

test("the pauses double up to ten seconds, and a call in between begins anew", async () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  let count = 0;
  mock.method(globalThis, "fetch", async () => {
    count += 1;
    throw new TypeError("nobody is there");
  });
  client.listen({ onContact: (hasContact) => (lostAt.value = hasContact ? null : (lostAt.value ?? Date.now())), onRefusedKey: () => {} });
  const pauses = async (/** @type {number} */ number) => {
    const found = [];
    for (let at = 0; at < number; at += 1) {
      await settle();
      const ms = nextTryAt.value - Date.now();
      found.push(ms);
      const before = count;
      mock.timers.tick(ms - 1);
      await settle();
      assert.equal(count, before, "asked too early");
      mock.timers.tick(1);
      await settle();
      assert.equal(count, before + 1, "not asked");
    }
    return found;
  };
  watch();
  assert.deepEqual(await pauses(7), [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  const before = count;
  watch();
  await settle();
  assert.equal(count, before + 1);
  assert.deepEqual(await pauses(2), [500, 1000]);
  mock.timers.reset();
  mock.restoreAll();
});
