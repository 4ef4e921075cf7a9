// The lines of the log that are kept and wanted, whoever reads them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { filter, follow, held, level, linesAfter, pause } from "../../ui/state/log.js";
import { status } from "../../ui/state/server.js";
import { streamOf } from "./streamed.mjs";

const MOST_LINES = 2000;
const LEVELS = ["debug", "info", "warning", "error"];

const line = (/** @type {number} */ number) =>
  `event: log\ndata: ${JSON.stringify({ number, timestamp: "2026-01-01T00:00:00Z", level: LEVELS[number % 4], event: "request.done", fields: { lane: number, at: { deep: "Here" } } })}\n\n`;

/** Follows a log of those events until what is asked for is there. @param {string[]} events @param {() => boolean} isThere */
async function followed(events, isThere) {
  status.value = "serving";
  globalThis.fetch = async () => new Response(streamOf([events.join("")], { isOpen: true }));
  const stop = follow();
  while (!isThere()) await new Promise((next) => setTimeout(next));
  stop();
}

test("the last lines are kept, by level and by words, and a gap is one of them", async () => {
  const events = Array.from({ length: MOST_LINES + 100 }, (_, number) => line(number));
  level.value = "debug";
  await followed([...events, 'event: gap\ndata: {"lost":5}\n\n'], () => linesAfter(-1).at(-1)?.event === "page.lines_missed");
  const all = linesAfter(-1);
  assert.equal(all.length, MOST_LINES);
  assert.equal(all[0].number, 101);
  assert.equal(all.at(-1)?.fields.lines, 5);
  level.value = "warning";
  assert.deepEqual([...new Set(linesAfter(-1).map((each) => each.level))].sort(), ["error", "warning"]);
  assert.deepEqual(linesAfter(2094).map(({ number }) => number), [2095, 2098, 2099, 2104]);
  filter.value = "DONE lane=2098 here";
  assert.deepEqual(linesAfter(-1).map(({ number }) => number), [2098]);
  filter.value = "";
});

test("what stands still is what there was, whatever comes", async () => {
  level.value = "debug";
  pause();
  const before = linesAfter(-1, held.value);
  await followed([line(1), line(2)], () => linesAfter(-1).length === 2);
  assert.deepEqual(linesAfter(-1, held.value), before);
  pause();
  assert.deepEqual(linesAfter(-1, held.value).map(({ number }) => number), [1, 2]);
});
