// Generations beside each other over the page's one WebSocket, with the events that `generate` has; over HTTP where there
// is no WebSocket to be had, or the request has what only a chat completion can say.

import { ApiError } from "./errors.js";
import { generate } from "./generate.js";
import { NoSocketError, socket } from "./socket.js";

/** @typedef {import("./socket.js").ResponseBody} ResponseBody */

/** What both kinds of request say alike. */
const ALIKE = new Set([
  "model", "class", "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "seed", "stop",
  "reasoning_effort", "enable_thinking", "thinking_budget",
]);

/**
 * As `generate`.
 * @param {any} request of a chat completion @param {AbortSignal} signal
 * @returns {AsyncGenerator<import("./generate.js").GenerationEvent>}
 */
export async function* generateBeside(request, signal) {
  const body = asResponse(request);
  try {
    if (body) {
      yield* overSocket(body, signal);
      return;
    }
  } catch (error) {
    if (!(error instanceof NoSocketError)) throw error;
  }
  yield* generate(request, signal);
}

/**
 * The same as the body of a response; null: it has what a response cannot say.
 * @param {Record<string, any>} request
 */
export function asResponse({ messages, ...fields }) {
  if (messages.some((/** @type {any} */ { role, content, tool_calls: calls }) => typeof content !== "string" || calls || role === "tool")) return null;
  /** @type {ResponseBody} */
  const body = { input: messages.map((/** @type {any} */ { role, content }) => ({ role, content })) };
  for (const [name, value] of Object.entries(fields)) {
    if (name === "max_completion_tokens") body.max_output_tokens = value;
    else if (ALIKE.has(name)) body[name] = value;
    else return null;
  }
  return body;
}

/** @param {ResponseBody} body @param {AbortSignal} signal @returns {AsyncGenerator<import("./generate.js").GenerationEvent>} */
async function* overSocket(body, signal) {
  for await (const event of socket.respond(body, signal)) {
    switch (event.type) {
      case "response.queued":
        yield { kind: "queued", place: event.place };
        break;
      case "response.in_progress":
        yield { kind: "started", model: event.response.model, isBySocket: true };
        break;
      case "response.reasoning_text.delta":
        yield { kind: "reasoning", text: event.delta };
        break;
      case "response.output_text.delta":
        yield { kind: "text", text: event.delta };
        break;
      case "response.completed":
      case "response.incomplete":
        yield* endOf(event.response);
        break;
      case "response.failed":
        throw new ApiError(event.response.error.message, { status: 200, code: event.response.error.code });
      case "error":
        throw new ApiError(event.error.message, { status: event.status, code: event.error.code, param: event.error.param });
    }
  }
}

/** @param {any} received @returns {Generator<import("./generate.js").GenerationEvent>} */
function* endOf(received) {
  const { incomplete_details: details, usage, timings } = received;
  yield { kind: "done", reason: !details ? "stop" : details.reason === "max_output_tokens" ? "length" : details.reason };
  yield {
    kind: "usage",
    received,
    usage: {
      prompt_tokens: usage.input_tokens,
      completion_tokens: usage.output_tokens,
      total_tokens: usage.total_tokens,
      prompt_tokens_details: usage.input_tokens_details,
      completion_tokens_details: usage.output_tokens_details,
    },
    timings: timings ?? null,
  };
}
