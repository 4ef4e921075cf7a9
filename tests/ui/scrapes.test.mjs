// When the metrics are asked for: not of a server that is away, and seldom of one that keeps none.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { collect, ring, trouble } from "../../ui/state/samples.js";
import { status } from "../../ui/state/server.js";
import { lostAt } from "../../ui/state/session.js";

const PERIOD_MS = 2000;

/** Lets all go on that waits for no time. */
const settle = async () => {
  for (let round = 0; round < 100; round += 1) await Promise.resolve();
};

test("a server without metrics is asked each half minute, one that is away or locked not at all", async () => {
  mock.timers.enable({ apis: ["setInterval", "Date"], now: 1_000_000 });
  let count = 0;
  let answer = () => new Response("ignis_lanes 3\n");
  mock.method(globalThis, "fetch", async () => {
    count += 1;
    return answer();
  });
  const asked = async (/** @type {number} */ seconds) => {
    const before = count;
    for (let ms = 0; ms < seconds * 1000; ms += PERIOD_MS) {
      mock.timers.tick(PERIOD_MS);
      for (let round = 0; round < 10; round += 1) await new Promise((next) => setImmediate(next));
    }
    return count - before;
  };
  collect();
  await settle();
  assert.equal(count, 0, "asked before the server was met");
  status.value = "serving";
  assert.equal(await asked(10), 5);
  assert.equal(ring.at("ignis_lanes", ring.last), 3);
  status.value = "locked";
  assert.equal(await asked(10), 0);
  status.value = "serving";
  lostAt.value = Date.now();
  assert.equal(await asked(10), 0);
  assert.ok(Number.isNaN(ring.at("ignis_lanes", ring.last)));
  lostAt.value = null;
  answer = () => new Response("{}", { status: 404 });
  assert.equal(await asked(64), 2);
  assert.equal(trouble.value, "off");
  answer = () => new Response("ignis_lanes 5\n");
  assert.ok((await asked(40)) > 1);
  assert.equal(trouble.value, "");
  assert.equal(ring.at("ignis_lanes", ring.last), 5);
  mock.timers.reset();
  mock.restoreAll();
});
