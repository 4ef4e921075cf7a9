// The OpenAI SDK of Node over Responses: argument 1 is the server's base URL. Prints one line of JSON.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "unused", maxRetries: 0 });
const tools = [
  {
    type: "function",
    name: "weather",
    parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } },
    strict: false,
  },
];
const input = "Will it rain in Köln?";

const stream = client.responses.stream({ model: "", input, tools });
let pieces = "";
stream.on("response.function_call_arguments.delta", (event) => (pieces += event.delta));
const first = await stream.finalResponse();
const [call] = first.output;
assert.equal(call.type, "function_call");
assert.equal(pieces, call.arguments);

const result = { type: "function_call_output", call_id: call.call_id, output: "rain" };
const second = await client.responses.create({ model: "", input: [result], tools, previous_response_id: first.id });
assert.equal((await client.responses.retrieve(second.id)).output_text, second.output_text);
const items = [];
for await (const item of client.responses.inputItems.list(second.id, { order: "asc" })) items.push(item.type);
await client.responses.delete(second.id);
await assert.rejects(client.responses.retrieve(second.id), OpenAI.NotFoundError);

await assert.rejects(client.responses.create({ model: "", input, temperature: 9 }), (error) => {
  return error instanceof OpenAI.BadRequestError && error.param === "temperature";
});

const controller = new AbortController();
const endless = await client.responses.create(
  { model: "", input, stream: true, max_output_tokens: 4000, ignore_eos: true },
  { signal: controller.signal },
);
let count = 0;
for await (const event of endless) {
  if (event.type === "response.output_text.delta" && ++count === 3) controller.abort();
}

const overSocket = await new Promise((resolve, reject) => {
  const socket = new ResponsesWS(client);
  socket.on("error", reject);
  socket.on("response.completed", (event) => {
    socket.close();
    resolve(event.response.output[0].content[0].text);
  });
  socket.socket.on("open", () => socket.send({ type: "response.create", input: "Hi" }));
});

console.log(JSON.stringify({ arguments: JSON.parse(call.arguments), answer: second.output_text, items, overSocket }));
