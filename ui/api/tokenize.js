// How many tokens a text is.

import { client } from "./client.js";

/**
 * @param {string} prompt @param {AbortSignal} signal
 * @returns {Promise<number>}
 */
export async function countTokens(prompt, signal) {
  return (await client.post("/v1/tokenize", { prompt }, signal)).count;
}
