// The tail of the server's log.

import { client } from "./client.js";
import { readEvents } from "./lines.js";

/** @typedef {{number: number, timestamp: string, level: "debug" | "info" | "warning" | "error", event: string, fields: Record<string, any>}} LogLine */

/**
 * The last lines, then each as it comes; {lost} where this page was too slow for some.
 * @param {number} last @param {AbortSignal} signal
 * @returns {AsyncGenerator<LogLine | {lost: number}>}
 */
export async function* readLog(last, signal) {
  const response = await client.open(`/ui/log?last=${last}`, { signal });
  try {
    for await (const data of readEvents(/** @type {ReadableStream<Uint8Array>} */ (response.body))) yield JSON.parse(data);
  } catch (error) {
    // A TypeError is how a browser says that the connection broke while its body was read.
    if (!(error instanceof TypeError)) throw error;
  }
}
