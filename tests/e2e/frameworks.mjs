// Vercel's AI SDK and OpenAI's Agents SDK over Responses: argument 1 is the server's base URL. Prints one line of JSON.
// Both check each event against a schema of their own.
import { createOpenAI } from "@ai-sdk/openai";
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool as agentTool } from "@openai/agents";
import { generateText, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";

const baseURL = process.argv[2];
const parameters = z.object({ city: z.string(), days: z.number() });
const asked = [];

const model = createOpenAI({ baseURL, apiKey: "unused" }).responses("agent");
const weather = tool({
  description: "The weather of a city",
  inputSchema: parameters,
  execute: async (input) => (asked.push(input), "rain"),
});
const options = { model, prompt: "Will it rain?", tools: { weather }, stopWhen: stepCountIs(3) };
const whole = await generateText(options);
const stream = streamText({ ...options, onError: ({ error }) => { throw error; } });
const streamed = await stream.text;

setTracingDisabled(true);
setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey: "unused", maxRetries: 0 }));
const agent = new Agent({
  name: "Weather",
  instructions: "Be brief.",
  model: "agent",
  tools: [
    agentTool({
      name: "weather",
      description: "The weather of a city",
      // The model by hand does not spell its calls in the tokens that a strict tool holds it to.
      strict: false,
      parameters: { ...z.toJSONSchema(parameters), additionalProperties: true },
      execute: async (input) => (asked.push(input), "rain"),
    }),
  ],
});
const result = await run(agent, "Will it rain?");
const running = await run(agent, "Will it rain?", { stream: true });
await running.completed;

console.log(JSON.stringify({ answers: [whole.text, streamed, result.finalOutput, running.finalOutput], asked }));
