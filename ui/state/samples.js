// One scrape each two seconds of what Prometheus reads, for as long as the page lives.

import { ApiError } from "../api/errors.js";
import { readMetrics } from "../api/exposition.js";
import { computed, signal } from "../vendor/signals-core.js";
import { addMeasures } from "./measures.js";
import { Ring } from "./ring.js";
import { status, watch } from "./server.js";
import { isConnected, route } from "./session.js";

const PERIOD_MS = 2000;
const CAPACITY = 1800;
const LIMIT_MS = 10_000;
const OFF_PERIODS = 15;
/** States of the server in which it has not been met yet, or does not let this page in. */
const UNASKED = new Set(["", "away", "locked"]);

/** The views that show samples. */
const SEEN = new Set(["monitor", "server"]);

export const ring = new Ring(CAPACITY);
addMeasures(ring);

/** How many samples were taken: what reads it is drawn anew at each. */
export const taken = signal(0);
/** Why there are no samples: "" while they come, "off" where the server's metrics are, else its own words. */
export const trouble = signal("");
/** Minutes that are shown. */
export const minutes = signal(15);
/** Two times that were chosen in a chart, seconds since 1970; null: up to now. @type {import("../vendor/signals-core.js").Signal<[number, number] | null>} */
export const chosen = signal(/** @type {[number, number] | null} */ (null));
/** When the pictures were stopped, seconds since 1970; null: they move. */
export const pausedAt = signal(/** @type {number | null} */ (null));

/** What is shown: places of the first sample and of the one after the last, and the two times. */
export const shown = computed(() => {
  taken.value;
  const to = chosen.value?.[1] ?? pausedAt.value ?? (ring.count ? ring.time(ring.last) : Date.now() / 1000);
  const from = chosen.value?.[0] ?? to - minutes.value * 60;
  const [start, stop] = ring.range(from, to);
  return { start, stop, from, to };
});

let isCollecting = false;

// --- Actions

/** Begins, once. */
export function collect() {
  if (isCollecting) return;
  isCollecting = true;
  take();
  setInterval(take, PERIOD_MS);
}

export function pause() {
  pausedAt.value = pausedAt.value === null && ring.count ? ring.time(ring.last) : null;
}

/** @param {number} count */
export function show(count) {
  minutes.value = count;
  chosen.value = null;
}

// --- Internal

let isAsking = false;
/** Scrapes to leave out: a server without metrics is asked again now and then, for it may be started anew. */
let rest = 0;

async function take() {
  // One that is late leaves a gap, and is not overtaken.
  if (isAsking || rest-- > 0) return;
  if (!isConnected.value || UNASKED.has(status.value)) {
    if (ring.count) add(null);
    return;
  }
  isAsking = true;
  const isSeen = SEEN.has(route.value.view);
  try {
    add(await readMetrics(AbortSignal.timeout(LIMIT_MS), !isSeen));
    trouble.value = "";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (ring.count) add(null);
    trouble.value = error.status === 404 ? "off" : error.message;
    if (error.status === 404) rest = OFF_PERIODS;
    // Finding the server again is the business of one alone, which tells when the next try is.
    if (error.isLost && isSeen) watch();
  } finally {
    isAsking = false;
  }
}

/** @param {import("../api/exposition.js").Exposition | null} exposition */
function add(exposition) {
  ring.add(Date.now() / 1000, exposition);
  taken.value += 1;
}
