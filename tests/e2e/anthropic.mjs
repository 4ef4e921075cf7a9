// What a program with Anthropic's SDK of Node does; prints what it saw as JSON. Its argument says where.
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

const client = new Anthropic({ baseURL: process.argv[2], apiKey: "unused", maxRetries: 0 });
const input_schema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
};
const messages = [{ role: "user", content: "Will it rain in Köln?" }];
const tools = [{ name: "weather", description: "The weather of a city", input_schema }];
const fields = { model: "", max_tokens: 200, messages };
const textOf = (message) => message.content.map((block) => block.text ?? "").join("");
const seen = {};

seen.whole = textOf(await client.messages.create(fields));

const texts = [];
const spoken = client.messages.stream(fields).on("text", (text) => texts.push(text));
seen.streamed = textOf(await spoken.finalMessage());
seen.texts = texts;

const pieces = [];
const calling = client.messages.stream({ ...fields, tools }).on("inputJson", (piece) => pieces.push(piece));
const called = await calling.finalMessage();
seen.pieces = pieces;
seen.call = { name: called.content[0].name, input: called.content[0].input, stop_reason: called.stop_reason };

const asked = [];
const run = async (input) => {
  asked.push(input);
  return "rain";
};
const tool = betaTool({ name: "weather", description: "The weather of a city", inputSchema: input_schema, run });
seen.ran = textOf(await client.beta.messages.toolRunner({ ...fields, tools: [tool] }));
seen.asked = asked;

seen.count = (await client.messages.countTokens({ model: "", messages })).input_tokens;

seen.errors = [];
for (const wrong of [{ max_tokens: -1 }, { model: "claude" }]) {
  try {
    await client.messages.create({ ...fields, ...wrong });
  } catch (error) {
    seen.errors.push([error.constructor.name, error.status, error.type, Boolean(error.requestID)]);
  }
}

const left = await client.messages.create({ ...fields, stream: true });
for await (const event of left) {
  seen.left = event.type;
  break;
}
console.log(JSON.stringify(seen));
