// What can be fetched, and what is being fetched, followed as long as somebody looks or something comes.

import { readCatalog, startDownload, stopDownload, watchState } from "../api/catalog.js";
import { ApiError, isAbort } from "../api/errors.js";
import { pause } from "../api/client.js";
import { effect, signal } from "../vendor/signals-core.js";
import { ring, taken } from "./samples.js";
import { change, coming, course, models, status, watch } from "./server.js";

/** @typedef {import("../api/catalog.js").Entry} Entry */
/** @typedef {import("../api/catalog.js").Download} Download */

const RETRY_MS = 1000;
const GRACE_MS = 700;
const BROUGHT = "ignis_model_download_bytes_total";

/** null before the first answer. */
export const catalog = signal(/** @type {{data: Entry[], can_download: boolean} | null} */ (null));
/** The latest of each model, by its id. */
export const downloads = signal(/** @type {Map<string, Download>} */ (new Map()));
/** Why the last start or stop was refused. */
export const refusal = signal("");

/** Models that are to serve once they are here. @type {Set<string>} */
const wanted = new Set();
let numLooking = 0;
let aborted = new AbortController();
/** Ends the look that lasts as long as something comes. @type {(() => void) | null} */
let leave = null;

effect(() => {
  coming.value = [...downloads.value.values()].find(({ state }) => state === "running") ?? null;
});

// --- Lifecycle

/** Follows what comes already and, as the figures that are read anyway tell of it, what comes from now on, whoever asked for it. */
export function attend() {
  find();
  effect(() => {
    taken.value;
    const isMore = ring.at(BROUGHT, ring.last) > ring.at(BROUGHT, ring.last - 1);
    if (isMore && !numLooking) queueMicrotask(find);
  });
}

/** Follows until what it returns is called. */
export function look() {
  numLooking += 1;
  if (numLooking === 1) {
    aborted = new AbortController();
    follow(aborted.signal);
  }
  return () => {
    numLooking -= 1;
    if (!numLooking) aborted.abort();
  };
}

// --- Actions

/** @param {string} id @param {boolean} [isServedThen] whether it is loaded once it is here */
export async function fetchModel(id, isServedThen = false) {
  if (isServedThen) wanted.add(id);
  await asking(async () => note(await startDownload(id)));
}

/** What has come is kept. @param {string} id */
export async function stopFetching(id) {
  wanted.delete(id);
  await asking(() => stopDownload(id));
}

/** @param {Download | undefined} download */
export function isMoving(download) {
  return download?.state === "running" || download?.state === "waiting";
}

// --- Internal

async function find() {
  if (status.value === "locked") return;
  try {
    for (const { download } of (await readCatalog()).data) if (download && isMoving(download)) note(download);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

/** @param {AbortSignal} signal */
async function follow(signal) {
  while (!signal.aborted) {
    // Without the key it would be asked for at each attempt.
    if (status.value === "locked") {
      await pause(RETRY_MS, signal);
      continue;
    }
    try {
      catalog.value = await readCatalog();
      // What a server that died was fetching is gone on with.
      for (const id of wanted) if (!isMoving(downloads.value.get(id))) await fetchModel(id);
      for await (const state of watchState(signal)) take(state);
    } catch (error) {
      if (isAbort(error)) return;
      if (!(error instanceof ApiError)) throw error;
    }
    downloads.value = new Map();
    await pause(RETRY_MS, signal);
  }
}

/** @param {import("../api/catalog.js").State} state */
function take(state) {
  const before = downloads.value;
  downloads.value = new Map((state.downloads ?? []).map((download) => [download.model, download]));
  course.value = state;
  if (state.status !== status.value) watch();
  for (const { model, state: now } of downloads.value.values()) {
    if (now === before.get(model)?.state) continue;
    if (now === "complete") arrive(model);
    else if (!isMoving(downloads.value.get(model)) && before.has(model)) asking(async () => (catalog.value = await readCatalog()));
    if (now === "failed") wanted.delete(model);
  }
  stay();
}

/** @param {string} model */
async function arrive(model) {
  const done = look();
  const isServedThen = wanted.delete(model);
  await asking(async () => (catalog.value = await readCatalog()));
  watch();
  // A server that was started for this one loads it by itself.
  await pause(GRACE_MS, aborted.signal);
  const isOnItsWay = status.value === "loading" || status.value === "switching";
  if (isServedThen && !isOnItsWay && !models.value.some((each) => each.id === model && each.loaded)) await change(model);
  done();
}

/** Looks on while something comes, and no longer. */
function stay() {
  if ([...downloads.value.values()].some(isMoving)) leave ??= look();
  else {
    leave?.();
    leave = null;
  }
}

/** @param {Download} download */
function note(download) {
  downloads.value = new Map(downloads.value).set(download.model, download);
  stay();
}

/** @param {() => Promise<unknown>} work */
async function asking(work) {
  refusal.value = "";
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    refusal.value = error.message;
  }
}
