// The routes of models: which there are, and a change from one to another.

import { client } from "./client.js";

/**
 * @typedef {{id: string, loaded: boolean, format?: string, size_bytes?: number, max_model_len?: number,
 *   load_estimate_seconds?: number, defaults?: Record<string, number>,
 *   capabilities?: {tools: boolean, thinking: boolean, thinking_efforts: string[], vision: boolean}}} Model
 */

/**
 * @param {AbortSignal} [signal]
 * @returns {Promise<{data: Model[], status: string, build: string}>}
 */
export function readModels(signal) {
  return client.get("/v1/models", signal);
}

/** @param {string} model */
export function switchTo(model) {
  return client.post("/v1/models/switch", { model });
}
