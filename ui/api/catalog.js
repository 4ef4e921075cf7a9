// The routes of what can be fetched, and of the state of the server as it changes.

import { client } from "./client.js";
import { follow } from "./lines.js";

/**
 * @typedef {{model: string, state: "waiting" | "running" | "complete" | "failed" | "stopped", done_bytes: number,
 *   total_bytes: number, bytes_per_second: number, reason?: string}} Download
 * @typedef {{id: string, title: string, size_bytes: number, presence: "complete" | "partial" | "absent" | "foreign" | "unreadable",
 *   origin: string, is_default: boolean, licence?: string, architecture?: string, format?: string, parameters?: number,
 *   context_tokens?: number, needs_bytes?: number, download?: Download}} Entry
 * @typedef {import("./models.js").Course & {status: string, model?: string, waiting?: number, downloads?: Download[]}} State
 */

/** @returns {Promise<{data: Entry[], can_download: boolean}>} */
export function readCatalog() {
  return client.get("/v1/models/catalog");
}

/** @param {string} model @returns {Promise<Download>} */
export function startDownload(model) {
  return client.post("/v1/models/download", { model });
}

/** @param {string} model */
export function stopDownload(model) {
  return client.open(`/v1/models/download/${encodeURIComponent(model)}`, { method: "DELETE" });
}

/** Yields the state now and after each change, until the server ends. @param {AbortSignal} signal @returns {AsyncGenerator<State>} */
export function watchState(signal) {
  return follow("/v1/models/events", signal);
}
