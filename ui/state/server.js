// What the server has: models and their state, asked for again as long as something is on its way.

import { pause } from "../api/client.js";
import { ApiError, isAbort } from "../api/errors.js";
import { readModels, switchTo, unloadModel } from "../api/models.js";
import { computed, effect, signal } from "../vendor/signals-core.js";
import { isConnected } from "./session.js";

const BUSY_PAUSE_MS = 1000;
const CALM_PAUSE_MS = 15_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
const RELOAD_PAUSE_MS = 200;

export const models = signal(/** @type {import("../api/models.js").Model[]} */ ([]));
/** The server's word for the state of its model; "" before the first answer. */
export const status = signal("");
export const failure = signal("");
/** How that state goes: a load's or a switch's progress, the reason of a failure, the last switch. */
export const course = signal(/** @type {import("../api/models.js").Course} */ ({}));
/** Of a model that is being fetched now; null: none is. */
export const coming = signal(/** @type {import("../api/catalog.js").Download | null} */ (null));
/** Whether another server than the one that this page came from answers now. */
export const isReplaced = signal(false);
/** Of the program that answers. */
export const version = signal("");
/** Whether that is so, whatever a person was told of it: it has not the files of this page. */
export const isOutdated = signal(false);
/** When the next attempt comes while there is no server, in ms since 1970. */
export const nextTryAt = signal(0);
export const loaded = computed(() => models.value.find((model) => model.loaded) ?? null);
/** What a message goes to: what serves, or what the next request wakes. Of that the server still knows what it can do. */
export const answering = computed(() => loaded.value ?? models.value[0] ?? null);
/** Whether the server has said that it has none. */
export const hasNoModel = computed(() => !models.value.length && !["", "away", "locked", "serving"].includes(status.value));
/** The latest changes of what is loaded, the newest first. */
export const switches = signal(/** @type {import("../api/models.js").Switch[]} */ ([]));
/** Whether a message has the model loaded that it names. */
export const canChoose = signal(true);
/** Folders of models that the server may not read. */
export const unreadable = signal(/** @type {string[]} */ ([]));
/** Ranges and texts of what a request can set. */
export const fields = signal(/** @type {Map<string, import("../api/openapi.js").FieldRange>} */ (new Map()));

/** @type {AbortController | null} */
let watching = null;
/** Of the server that this page came from, and of the last one that answered. */
let ownBuild = "";
let build = "";

// --- Lifecycle

/** Asks from now on, and at once when the connection is lost. */
export function start() {
  watch();
  effect(() => {
    if (!isConnected.value) queueMicrotask(watch);
  });
}

// --- Actions

/** Asks now, and goes on asking; a second call takes the place of the first. */
export async function watch() {
  watching?.abort();
  const { signal: aborted } = (watching = new AbortController());
  let retryMs = FIRST_RETRY_MS;
  while (!aborted.aborted) {
    await ask(aborted);
    // Without a key there is nothing to look for, and each look would ask a person for it once more.
    if (aborted.aborted || status.value === "locked") return;
    let pauseMs = status.value === "loading" || status.value === "switching" ? BUSY_PAUSE_MS : CALM_PAUSE_MS;
    if (isConnected.value) retryMs = FIRST_RETRY_MS;
    else {
      pauseMs = retryMs;
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
    nextTryAt.value = Date.now() + pauseMs;
    await pause(pauseMs, aborted);
  }
}

/** An answer has begun: where its model was not known to serve, it was waked or switched to. @param {string} model */
export function noteAnswer(model) {
  if (loaded.value?.id !== model || status.value !== "serving") watch();
}

/** @param {string} model */
export async function change(model) {
  status.value = "switching";
  await act(() => switchTo(model));
}

export function unload() {
  return once("unload", unloadModel);
}

/** Loads the model anew, or the one that sleeps. */
export function reload() {
  const model = answering.value?.id;
  if (!model) return;
  return once("reload", async () => {
    if (loaded.value) await unloadModel();
    status.value = "loading";
    // Running answers are waited for before it goes, and until then the server takes no other order.
    for (;;) {
      try {
        return await switchTo(model);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== "switch_in_progress") throw error;
        await new Promise((resolve) => setTimeout(resolve, RELOAD_PAUSE_MS));
      }
    }
  });
}

// --- Internal

/** Orders that are under way: the second half of a double click gives none. @type {Set<string>} */
const given = new Set();

/** @param {string} name @param {() => Promise<unknown>} order */
async function once(name, order) {
  if (given.has(name)) return;
  given.add(name);
  await act(order).finally(() => given.delete(name));
}

/** @param {() => Promise<unknown>} order */
async function act(order) {
  failure.value = "";
  try {
    await order();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    failure.value = error.message;
  }
  watch();
}

/** @param {AbortSignal} aborted */
async function ask(aborted) {
  try {
    const answer = await readModels(aborted);
    models.value = answer.data;
    status.value = answer.status;
    course.value = answer;
    switches.value = answer.switches ?? [];
    unreadable.value = answer.unreadable ?? [];
    canChoose.value = answer.can_choose;
    if (answer.build && answer.build !== build) isReplaced.value = build !== "";
    build = answer.build || build;
    version.value = build.split("+")[0];
    ownBuild ||= build;
    isOutdated.value = build !== ownBuild;
    if (!fields.value.size) fields.value = await (await import("../api/openapi.js")).readFields();
  } catch (error) {
    if (isAbort(error)) return;
    if (!(error instanceof ApiError)) throw error;
    status.value = error.status === 401 ? "locked" : error.isLost ? "away" : "failed";
  }
}
