// The routes of models: which there are, and a change from one to another.

import { client } from "./client.js";

/**
 * @typedef {{id: string, loaded: boolean, format?: string, size_bytes?: number, max_model_len?: number,
 *   load_estimate_seconds?: number, load_seconds?: number, device?: string, num_parameters?: number,
 *   defaults?: Record<string, number>,
 *   capabilities?: {tools: boolean, thinking: boolean, thinking_efforts: string[], vision: boolean}}} Model
 */

/**
 * @typedef {{from?: string, to?: string, at: number, outcome: string, waited: number, reason?: string, prepare_ms?: number,
 *   drain_ms?: number, teardown_ms?: number, load_ms?: number, warm_up_ms?: number}} Switch at: seconds since 1970; without from
 *   or to: nothing was loaded before, or after
 */

/**
 * @typedef {{switching?: {from: string, to: string}, loading?: {phase: string, done_bytes: number, total_bytes: number, seconds: number},
 *   reason?: string, last_switch?: Switch}} Course
 */

/**
 * @param {AbortSignal} [signal]
 * @returns {Promise<Course & {data: Model[], status: string, build: string, can_choose: boolean, switches?: Switch[], unreadable?: string[]}>}
 */
export function readModels(signal) {
  return client.get("/v1/models", signal);
}

/** @param {string} model */
export function switchTo(model) {
  return client.post("/v1/models/switch", { model });
}

/** @returns {Promise<{status: "unloading" | "unloaded"}>} */
export function unloadModel() {
  return client.post("/v1/models/unload", {});
}
