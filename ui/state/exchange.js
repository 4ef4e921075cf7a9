// The request of an answer as it went out, and the answer as it came: what a turn has already is kept no second time.

import { asResponse } from "../api/beside.js";
import { bodyOf } from "../api/generate.js";

/** @typedef {import("../store/turns.js").TurnRecord} TurnRecord */

/** What is kept of the server's own answer: its texts are the turn's. @param {any} received @param {TurnRecord} record */
export function leanOf({ output, ...rest }, { text, reasoning }) {
  if (!output) return rest;
  const parts = (/** @type {any[]} */ content) => content.map((part) => (part.text === text || part.text === reasoning ? { ...part, text: null } : part));
  return { ...rest, output: output.map((/** @type {any} */ item) => (item.content ? { ...item, content: parts(item.content) } : item)) };
}

/** Where the request went, and what it said. @param {TurnRecord} record */
export function sentOf({ request, isBySocket, received }) {
  const body = isBySocket ? asResponse(request) : null;
  const last = received?.previous_response_id;
  // What went on from an answer said only what came after it.
  if (body && last) Object.assign(body, { previous_response_id: last, input: body.input.slice(1 + body.input.findLastIndex((/** @type {any} */ { role }) => role === "assistant")) });
  return body
    ? { to: "WebSocket /v1/responses", body: { type: "response.create", ...body, store: false } }
    : { to: "POST /v1/chat/completions", body: bodyOf(request) };
}

/** The answer whole, however many pieces it came in. @param {TurnRecord} record */
export function receivedOf({ received, text, reasoning, tools, finish, usage, timings, model, failure }) {
  if (received?.output) {
    const whole = (/** @type {any} */ item) => item.content.map((/** @type {any} */ part) => (part.text === null ? { ...part, text: item.type === "reasoning" ? reasoning : text } : part));
    return { ...received, output: received.output.map((/** @type {any} */ item) => (item.content ? { ...item, content: whole(item) } : item)) };
  }
  const calls = tools.map(({ name, arguments: said }, index) => ({ index, type: "function", function: { name, arguments: said } }));
  const message = { role: "assistant", content: text, ...(reasoning && { reasoning_content: reasoning }), ...(calls.length && { tool_calls: calls }) };
  return { ...received, object: "chat.completion", model, choices: [{ index: 0, message, finish_reason: finish }], usage, timings, ...(failure && { error: failure }) };
}
