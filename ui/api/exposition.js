// The Prometheus text, version 0.0.4, as a table of numbers; the same text that any scraper reads.

import { client } from "./client.js";

/**
 * @typedef {{kind: string, text: string}} Family
 * @typedef {{families: Map<string, Family>, values: Map<string, number>}} Exposition values by series: name and
 *   labels as they stand in the text
 */

/** A value, and maybe the time at which it was so. */
const VALUE = /^\s*(\S+)(?:\s+-?\d+)?\s*$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Throws an ApiError with status 404 where the server's metrics are off.
 * @param {AbortSignal} signal @param {boolean} isAside as Client.open has it
 */
export async function readMetrics(signal, isAside) {
  return parse(await client.text("/ui/metrics", signal, isAside));
}

/**
 * A line that is none of the format's is left out, as scrapers do.
 * @param {string} text @returns {Exposition}
 */
export function parse(text) {
  const families = new Map();
  const values = new Map();
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) describe(line, families);
    else {
      const end = keyEnd(line);
      const [, word] = (end > 0 && VALUE.exec(line.slice(end))) || [];
      const value = word ? number(word) : null;
      if (value !== null) values.set(line.slice(0, end), value);
    }
  }
  return { families, values };
}

/**
 * Takes a series apart.
 * @param {string} key @returns {{name: string, labels: Record<string, string>}}
 */
export function readKey(key) {
  const open = key.indexOf("{");
  if (open < 0) return { name: key, labels: {} };
  /** @type {Record<string, string>} */
  const labels = Object.create(null);
  for (const [, label, value] of key.slice(open + 1, -1).matchAll(/([\w:]+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[label] = value.replace(/\\(.)/g, (_, letter) => (letter === "n" ? "\n" : letter));
  }
  return { name: key.slice(0, open), labels };
}

// --- Internal

/** @param {string} line @param {Map<string, Family>} families */
function describe(line, families) {
  const [, what, name, rest] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
  if (!name) return;
  const family = families.get(name) ?? { kind: "untyped", text: "" };
  if (what === "TYPE") family.kind = rest;
  else family.text = rest.replace(/\\(.)/g, (_, letter) => (letter === "n" ? " " : letter));
  families.set(name, family);
}

/** Where the value's part begins: a label's value may hold spaces and braces. @param {string} line */
function keyEnd(line) {
  const brace = line.indexOf("{");
  const space = line.indexOf(" ");
  if (brace < 0 || (space >= 0 && space < brace)) return space;
  let isInside = false;
  for (let at = brace; at < line.length; at += 1) {
    if (isInside && line[at] === "\\") at += 1;
    else if (line[at] === '"') isInside = !isInside;
    else if (line[at] === "}" && !isInside) return at + 1;
  }
  return -1;
}

/** @param {string} word */
function number(word) {
  if (/^\+?Inf$/i.test(word)) return Infinity;
  if (/^-Inf$/i.test(word)) return -Infinity;
  if (word === "NaN") return NaN;
  return DECIMAL.test(word) ? Number(word) : null;
}
