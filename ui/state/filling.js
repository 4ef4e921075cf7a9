// What fills the context of the open chat.

import { countTokens } from "../api/tokenize.js";
import { path } from "./tree.js";
import { hasStalled, rateOf } from "./turn.js";

/** @typedef {import("./turn.js").Turn} Turn */

/**
 * By the last answer of the shown path that has counts: its prompt, what it wrote, how fast that comes while it comes, and
 * whether the page has counted and not the server.
 */
export function filling() {
  // The counts of a turn come when it ends, which its state tells.
  const last = path.value.findLast((turn) => turn.isRunning || turn.record.usage);
  if (!last) return { prompt: 0, answer: 0, rate: null, isRough: false };
  const { usage, times } = last.record;
  if (!last.isRunning) return { prompt: usage.prompt_tokens, answer: usage.completion_tokens, rate: null, isRough: Boolean(usage.isCounted) };
  const before = path.value.findLast((turn) => turn.record.usage)?.record.usage;
  const prompt = last.numPrompt || (before ? before.prompt_tokens + before.completion_tokens : 0);
  const rate = hasStalled(times) ? null : rateOf({ times, usage: { completion_tokens: last.numTokens } });
  return { prompt, answer: last.numTokens, rate, isRough: true };
}

/** What the shown path has after that: messages that were refused, or whose answers were stopped before they began. */
export function uncounted() {
  return path.value.slice(path.value.findLastIndex((turn) => turn.isRunning || turn.record.usage) + 1);
}

/** Counts the prompt of an answer that begins. @param {Turn} turn */
export function measure(turn) {
  countTokens(turn.record.request).then((count) => (turn.numPrompt = count), () => {});
}
