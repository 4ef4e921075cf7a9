// The one frame loop leaves the page three quarters of its time, whatever comes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { follow } from "../../ui/text/frame.js";

const FRAME_MS = 16;

/** How often something that takes so long to draw is drawn in so many frames. */
function drawnIn(numFrames, costMs) {
  let now = 1000;
  /** @type {(() => void)[]} */
  let asked = [];
  let count = 0;
  const { performance, requestAnimationFrame } = globalThis;
  Object.defineProperty(globalThis, "performance", { value: { now: () => now }, configurable: true });
  globalThis.requestAnimationFrame = (work) => asked.push(work);
  const end = follow({ draw: () => ((count += 1), (now += costMs), true) });
  for (let at = 0; at < numFrames; at += 1) {
    now = Math.max(now, 1000 + at * FRAME_MS);
    const works = asked;
    asked = [];
    for (const work of works) work();
  }
  end();
  for (const work of asked) work();
  Object.defineProperty(globalThis, "performance", { value: performance, configurable: true });
  globalThis.requestAnimationFrame = requestAnimationFrame;
  return count;
}

test("what costs nothing is drawn in every frame", () => {
  assert.equal(drawnIn(100, 0), 100);
});

test("what is dear is drawn the more seldom, a quarter of the time at most", () => {
  const share = (drawnIn(1000, 10) * 10) / (1000 * FRAME_MS);
  assert(share > 0.15 && share <= 0.25, String(share));
});
