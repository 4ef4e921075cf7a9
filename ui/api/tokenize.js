// How many tokens a text is.

import { client } from "./client.js";

/**
 * @param {string | object} what a text, or what a chat completion asks with
 * @param {AbortSignal} [signal]
 * @returns {Promise<number>}
 */
export async function countTokens(what, signal) {
  // By what serves: to count is no reason to switch to another model.
  const { model: _, ...asked } = typeof what === "string" ? { prompt: what } : /** @type {Record<string, any>} */ (what);
  return (await client.post("/v1/tokenize", asked, signal)).count;
}
