// The tail of the server's log.

import { follow } from "./lines.js";

/** @typedef {{number: number, timestamp: string, level: "debug" | "info" | "warning" | "error", event: string, fields: Record<string, any>}} LogLine */

/**
 * The last lines, then each as it comes; {lost} where this page was too slow for some.
 * @param {number} last @param {AbortSignal} signal
 * @returns {AsyncGenerator<LogLine | {lost: number}>}
 */
export function readLog(last, signal) {
  return follow(`/ui/log?last=${last}`, signal);
}
