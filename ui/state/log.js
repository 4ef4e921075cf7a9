// The log's last lines, for as long as somebody looks.

import { ApiError, isAbort } from "../api/errors.js";
import { readLog } from "../api/log.js";
import { pause as rest } from "../api/client.js";
import { signal } from "../vendor/signals-core.js";
import { status } from "./server.js";
import { isConnected } from "./session.js";

/** @typedef {import("../api/log.js").LogLine} LogLine */

const MOST_LINES = 2000;
const FIRST_LINES = 500;
const RETRY_MS = 2000;
const LOOK_MS = 250;
const UNASKED = new Set(["", "away", "locked"]);
const RANKS = { debug: 0, info: 1, warning: 2, error: 3 };

/** Not shown before the view asks: they come faster than it draws. @type {LogLine[]} */
let lines = [];

/** Counts up at each line. */
export const news = signal(0);
/** Counts up where the lines begin anew: what is drawn of others must go. */
export const beginning = signal(0);
export const level = signal(/** @type {keyof typeof RANKS} */ ("info"));
export const filter = signal("");
/** What is shown while it is stopped: the lines that there were; null: it goes on. @type {import("../vendor/signals-core.js").Signal<LogLine[] | null>} */
export const held = signal(/** @type {LogLine[] | null} */ (null));
export const isWrapped = signal(false);
/** Why no lines come; "" while they do. */
export const trouble = signal("");

// --- Actions

/** Reads until it is told to stop. @returns {() => void} */
export function follow() {
  const stop = new AbortController();
  read(stop.signal);
  return () => stop.abort();
}

/** Stops what is shown, or lets it go on; lines come all the same. */
export function pause() {
  held.value = held.value ? null : [...lines];
}

/** The lines that are wanted and came after that one, -1: all. @param {number} after @param {LogLine[] | null} [among] null: all that came */
export function linesAfter(after, among = null) {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const least = RANKS[level.value];
  const all = among ?? lines;
  const first = all.findIndex((line) => line.number > after);
  if (first < 0) return [];
  return all.slice(first).filter((line) => {
    if (RANKS[line.level] < least) return false;
    const text = words.length ? textOf(line).toLowerCase() : "";
    return words.every((word) => text.includes(word));
  });
}

/** @param {LogLine} line */
export function textOf(line) {
  return `${timeOf(line)} ${line.level} ${line.event} ${Object.entries(line.fields).map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`).join(" ")}`;
}

/** @param {LogLine} line */
export function timeOf(line) {
  const time = new Date(line.timestamp);
  return `${time.toLocaleTimeString("en-GB")}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

// --- Internal

/** @param {AbortSignal} stopped */
async function read(stopped) {
  while (!stopped.aborted) {
    // A server that is away, or asks for a key, is found again by one alone.
    if (!isConnected.value || UNASKED.has(status.value)) {
      await rest(LOOK_MS, stopped);
      continue;
    }
    try {
      let isFirst = true;
      for await (const line of readLog(FIRST_LINES, stopped)) {
        // The server may be another one now, which counts anew.
        if (isFirst) {
          lines = [];
          beginning.value += 1;
          isFirst = false;
        }
        trouble.value = "";
        keep(line);
      }
    } catch (error) {
      if (isAbort(error)) return;
      if (!(error instanceof ApiError)) throw error;
      trouble.value = error.message;
    }
    await rest(RETRY_MS, stopped);
  }
}

/** @param {LogLine | {lost: number}} line */
function keep(line) {
  if ("lost" in line) {
    const number = (lines.at(-1)?.number ?? 0) + line.lost;
    lines.push({ number, timestamp: new Date().toISOString(), level: "warning", event: "page.lines_missed", fields: { lines: line.lost } });
  } else lines.push(line);
  if (lines.length > MOST_LINES) lines.splice(0, lines.length - MOST_LINES);
  news.value += 1;
}
