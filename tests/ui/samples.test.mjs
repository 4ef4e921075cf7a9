// The metrics text, and what the monitor makes of the samples.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { ApiError } from "../../ui/api/errors.js";
import { parse, readKey, readMetrics } from "../../ui/api/exposition.js";
import { bytes, duration, span } from "../../ui/parts/format.js";
import { addMeasures, DERIVED, fromCache } from "../../ui/state/measures.js";
import { quantile, Ring } from "../../ui/state/ring.js";

/** @param {Record<string, number>} values */
const sample = (values) => ({ families: new Map(), values: new Map(Object.entries(values)) });
const TTFT = "ignis_request_ttft_seconds_bucket";

test("the text is read as scrapers read it", () => {
  const { families, values } = parse(
    [
      "# HELP requests_total Requests, \\\\ by\\nstate.",
      "# TYPE requests_total counter",
      "# a comment",
      'requests_total{state="a b } \\" \\\\ c\\n",x="1"} 12.5 1700000000',
      "plain 1e3",
      "up  NaN",
      'wait_bucket{le="+Inf"} +Inf',
      "broken{x=\"",
      "no_value ",
      "",
    ].join("\n"),
  );
  assert.deepEqual(families.get("requests_total"), { kind: "counter", text: "Requests, \\ by state." });
  assert.deepEqual([...values.values()], [12.5, 1000, NaN, Infinity]);
  const [key] = values.keys();
  assert.deepEqual({ ...readKey(key).labels }, { state: 'a b } " \\ c\n', x: "1" });
  assert.deepEqual(readKey("plain"), { name: "plain", labels: {} });
  assert.equal(readKey('x{__proto__="y"}').labels["__proto__"], "y");
});

test("a text that comes to no end is no answer", async (t) => {
  const server = createServer((_, response) => response.write("# TYPE a counter\n")).listen(0, "127.0.0.1");
  t.after(() => (server.closeAllConnections(), server.close()));
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const { fetch } = globalThis;
  t.mock.method(globalThis, "fetch", (path, options) => fetch(`http://127.0.0.1:${port}${path}`, options));
  await assert.rejects(readMetrics(AbortSignal.timeout(100), true), (error) => error instanceof ApiError && error.isLost);
});

test("the oldest sample gives way to the newest", () => {
  const ring = new Ring(3);
  for (const time of [1, 2, 3, 4, 5]) ring.add(time, sample({ a: time * 10 }));
  assert.equal(ring.count, 3);
  assert.deepEqual([0, 1, 2].map((index) => [ring.time(index), ring.at("a", index)]), [[3, 30], [4, 40], [5, 50]]);
  assert.deepEqual(ring.range(3.5, 9), [1, 3]);
  assert.deepEqual(ring.range(9, 10), [3, 3]);
});

test("a failed scrape is a gap, and growth goes on over it", () => {
  const ring = new Ring(9);
  ring.add(0, sample({ n_total: 10 }));
  ring.add(2, sample({ n_total: 14 }));
  ring.add(4, null);
  ring.add(6, sample({ n_total: 30 }));
  assert.equal(ring.rate("n_total", 1), 2);
  assert(Number.isNaN(ring.rate("n_total", 2)));
  assert(Number.isNaN(ring.rate("n_total", 3)));
  assert.equal(ring.growth("n_total", 0, 3), 20);
});

test("a counter that fell is a restart, where all counters begin anew", () => {
  const ring = new Ring(9);
  ring.add(0, sample({ n_total: 100, calm_total: 0, gauge: 5 }));
  ring.add(2, sample({ n_total: 110, calm_total: 0, gauge: 4 }));
  ring.add(4, sample({ n_total: 3, calm_total: 7, gauge: 9 }));
  assert.deepEqual([0, 1, 2].map((index) => ring.isRestart(index)), [false, false, true]);
  assert.equal(ring.growth("n_total", 0, 2), 13);
  assert.equal(ring.growth("calm_total", 0, 2), 7);
  assert(Number.isNaN(ring.rate("calm_total", 2)));
});

test("a restart is seen over a gap", () => {
  const ring = new Ring(9);
  ring.add(0, sample({ n_total: 100 }));
  ring.add(2, null);
  ring.add(4, sample({ n_total: 3 }));
  assert(ring.isRestart(2));
});

test("quantiles are interpolated in what came between two samples", () => {
  const ring = new Ring(9);
  const buckets = (/** @type {number[]} */ counts) =>
    sample(Object.fromEntries(["0.1", "0.5", "1", "+Inf"].map((bound, index) => [`${TTFT}{le="${bound}"}`, counts[index]])));
  ring.add(0, buckets([50, 50, 50, 50]));
  ring.add(2, buckets([50, 54, 58, 60]));
  const spread = ring.spread("ignis_request_ttft_seconds", 0, 1);
  assert.deepEqual(spread.map(({ count }) => count), [0, 4, 4, 2]);
  // The fifth of ten is the first of four in [0.5, 1].
  assert.equal(quantile(spread, 0.5), 0.5 + 0.5 * (1 / 4));
  assert.equal(quantile(spread, 0.95), 1);
  assert(Number.isNaN(quantile(ring.spread("ignis_request_ttft_seconds", 1, 1), 0.5)));
});

test("what is derived is worked out at each sample", () => {
  const ring = new Ring(9);
  addMeasures(ring);
  const at = (/** @type {number} */ n) =>
    sample({ ignis_decoded_tokens_total: 20 * n, ignis_prompt_tokens_total: 100 * n, ignis_prefix_reused_tokens_total: 10 * n, 'ignis_retained_reused_tokens_total{tier="host"}': 30 * n });
  ring.add(0, at(1));
  ring.add(2, at(2));
  assert.equal(ring.at(DERIVED.decodeRate, 1), 10);
  assert.equal(ring.at(DERIVED.computedRate, 1), 30);
  assert.deepEqual(fromCache(ring, 0, 1), { all: 100, cached: 40 });
  assert(!ring.keys.includes(DERIVED.decodeRate));
});

test("numbers are written as people read them", () => {
  assert.deepEqual([0, 999, 1000, 98_362_432, 999_999, 17.94e9, 141e9, NaN, -12e6].map(bytes), ["0 B", "999 B", "1 kB", "98 MB", "1 MB", "17.9 GB", "141 GB", "–", "−12 MB"]);
  assert.deepEqual([0.0059, 0.013, 0.21, 12.34, 300, NaN].map(duration), ["5.9 ms", "13 ms", "0.21 s", "12.3 s", "300 s", "–"]);
  assert.deepEqual([0, 59, 60, 11_520, 90_000].map(span), ["0 s", "59 s", "1 min", "3 h 12 min", "1 d 1 h"]);
});
