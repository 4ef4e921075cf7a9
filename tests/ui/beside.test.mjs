// A chat completion said as a response.

import assert from "node:assert/strict";
import { test } from "node:test";
import { asResponse } from "../../ui/api/beside.js";

const messages = [{ role: "system", content: "Be brief" }, { role: "user", content: "Hi" }];

test("what both say alike is taken over, and the cap under its other name", () => {
  assert.deepEqual(asResponse({ messages, seed: 7, temperature: 0, class: "agent", max_completion_tokens: 9, reasoning_effort: "low" }), {
    input: messages, seed: 7, temperature: 0, class: "agent", max_output_tokens: 9, reasoning_effort: "low",
  });
});

test("what only a chat completion can say is left to it", () => {
  assert.equal(asResponse({ messages, response_format: { type: "json_object" } }), null);
  assert.equal(asResponse({ messages, tools: [] }), null);
  assert.equal(asResponse({ messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] }), null);
});
