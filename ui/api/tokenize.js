// How many tokens a text is.

import { client } from "./client.js";

/**
 * @param {string | object} what a text, or what a chat completion asks with
 * @param {AbortSignal} [signal]
 * @returns {Promise<number>}
 */
export async function countTokens(what, signal) {
  return (await client.post("/v1/tokenize", typeof what === "string" ? { prompt: what } : what, signal)).count;
}
