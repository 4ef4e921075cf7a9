// What a turn is in the history of a request.

import assert from "node:assert/strict";
import { test } from "node:test";
import { asResponse } from "../../ui/api/beside.js";
import { flawIn, messagesOf } from "../../ui/state/content.js";

const turn = (more) => ({ id: "0123456789abcdef", role: "assistant", text: "", reasoning: "", tools: [], ...more });

test("calls go out with their results, and only a chat completion can say them", () => {
  const tools = [{ name: "weather", arguments: '{"city": 1}', result: "Rain" }, { name: "time", arguments: "" }];
  const messages = messagesOf(turn({ tools, reasoning: "Well" }));
  assert.deepEqual(messages, [
    {
      role: "assistant", content: null, reasoning_content: "Well",
      tool_calls: [
        { id: "0123456789ab-0", type: "function", function: { name: "weather", arguments: '{"city": 1}' } },
        { id: "0123456789ab-1", type: "function", function: { name: "time", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "0123456789ab-0", name: "weather", content: "Rain" },
  ]);
  assert.equal(asResponse({ messages: [messages[1]] }), null);
  assert.equal(asResponse({ messages: messagesOf(turn({ tools, text: "So:" })) }), null);
});

test("a call that was cut off, and a turn with nothing in it, are left out", () => {
  assert.deepEqual(messagesOf(turn({ tools: [{ name: "weather", arguments: '{"ci' }] })), []);
  assert.deepEqual(messagesOf(turn({ text: "So:", tools: [{ name: "", arguments: "{}" }] })), [{ role: "assistant", content: "So:" }]);
});

test("a malformed call that was given a result goes out with it, and with what was written as an object", () => {
  const [said, ...results] = messagesOf(turn({ tools: [{ name: "weather", arguments: '{"ci', result: "No" }, { name: "", arguments: "{", result: "Nor this" }] }));
  assert.deepEqual(said.tool_calls, [
    { id: "0123456789ab-0", type: "function", function: { name: "weather", arguments: '{"malformed":"{\\"ci"}' } },
    { id: "0123456789ab-1", type: "function", function: { name: "tool", arguments: '{"malformed":"{"}' } },
  ]);
  assert.deepEqual(results.map(({ content }) => content), ["No", "Nor this"]);
});

test("why a call cannot be done is said", () => {
  assert.equal(flawIn({ name: "a", arguments: "" }), "");
  assert.equal(flawIn({ name: "", arguments: "{}" }), "The call names no tool.");
  assert.equal(flawIn({ name: "a", arguments: "[1]" }), "The arguments are no JSON object.");
  assert.match(flawIn({ name: "a", arguments: '{"b' }), /^The arguments are no JSON: ./);
});

test("no text of a file closes the fence that is around it", () => {
  const attachments = [{ name: "notes.md", type: "text/plain", size: 9, text: "```js\nx\n````" }];
  assert.deepEqual(messagesOf(turn({ role: "user", text: "Read:", attachments })), [{ role: "user", content: "Read:\n\nnotes.md:\n`````\n```js\nx\n````\n`````" }]);
});
