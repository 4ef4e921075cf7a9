// One generation as a stream of events that says nothing about how it travels.

import { client, pause } from "./client.js";
import { ApiError } from "./errors.js";
import { readEvents } from "./lines.js";

const MOST_WAIT_S = 4;

/**
 * @typedef {[token: string, logprob: number, others: [token: string, logprob: number][]]} TokenChoice
 * @typedef {{kind: "queued", place?: number, retryAt?: number}
 *   | {kind: "started", model: string, received?: any, isBySocket?: boolean}
 *   | {kind: "reasoning", text: string}
 *   | {kind: "text", text: string, logprobs?: TokenChoice[]}
 *   | {kind: "tool", index: number, name?: string, arguments?: string}
 *   | {kind: "usage", usage: any, timings: any, received?: any}
 *   | {kind: "done", reason: string, forcedAt?: number}} GenerationEvent
 */

/**
 * Yields the events of a chat completion. A server without a free lane is asked again when it says; retryAt is in ms
 * since 1970. Raises ApiError for a refusal, an error in the stream, and a stream that
 * breaks off. Aborting closes the connection, which cancels at the server.
 * @param {object} request without stream
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<GenerationEvent>}
 */
export async function* generate(request, signal) {
  const response = yield* opened(bodyOf(request), signal);
  let hasStarted = false;
  try {
    for await (const data of readEvents(/** @type {ReadableStream<Uint8Array>} */ (response.body))) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ApiError(chunk.error.message, { status: response.status, code: chunk.error.code });
      const { choices, usage, ...received } = chunk;
      if (!hasStarted) yield { kind: "started", model: chunk.model, received };
      hasStarted = true;
      yield* eventsOf(chunk);
    }
  } catch (error) {
    // A TypeError is how a browser says that the connection broke while its body was read.
    if (!(error instanceof TypeError)) throw error;
  }
  client.lost();
  throw new ApiError("The connection ended before the answer did", { code: "stream_cut" });
}

/** As it is sent. @param {object} request without stream */
export function bodyOf(request) {
  return { ...request, stream: true, stream_options: { include_usage: true } };
}

/**
 * Yields that it waits for a lane, as often as there is none; returns the answer.
 * @param {object} body @param {AbortSignal} signal
 * @returns {AsyncGenerator<GenerationEvent, Response>}
 */
async function* opened(body, signal) {
  for (;;) {
    try {
      return await client.openPost("/v1/chat/completions", body, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "engine_full") throw error;
      // The estimate is for whoever wants to leave; who waits here is asked for again before, should a lane be free sooner.
      const waitMs = 1000 * Math.min(error.retryAfterS ?? 1, MOST_WAIT_S);
      yield { kind: "queued", retryAt: Date.now() + waitMs };
      await pause(waitMs, signal);
      signal.throwIfAborted();
    }
  }
}

/**
 * @param {any} chunk
 * @returns {Generator<GenerationEvent>}
 */
function* eventsOf(chunk) {
  const choice = chunk.choices?.[0];
  const delta = choice?.delta ?? {};
  if (delta.reasoning_content) yield { kind: "reasoning", text: delta.reasoning_content };
  const logprobs = delta.reasoning_content ? undefined : choice?.logprobs?.content?.map(choiceOf);
  // A token may be the half of a character, and give no text yet.
  if (delta.content || logprobs?.length) yield { kind: "text", text: delta.content ?? "", logprobs };
  for (const call of delta.tool_calls ?? []) {
    yield { kind: "tool", index: call.index, name: call.function?.name, arguments: call.function?.arguments };
  }
  if (choice?.finish_reason) yield { kind: "done", reason: choice.finish_reason, forcedAt: choice.thinking_budget_forced_at };
  if (chunk.usage) yield { kind: "usage", usage: chunk.usage, timings: chunk.timings ?? null };
}

/** @param {any} drawn @returns {TokenChoice} */
function choiceOf({ token, logprob, top_logprobs }) {
  return [token, logprob, top_logprobs.map((/** @type {any} */ other) => [other.token, other.logprob])];
}
