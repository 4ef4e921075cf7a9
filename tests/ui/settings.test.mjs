// The settings of a chat out of what a request says.

import assert from "node:assert/strict";
import { test } from "node:test";

import { settingsOf } from "../../ui/state/settings-of.js";

const tool = { name: "weather", parameters: { type: "object" } };
const schema = { type: "boolean" };
/** Fields of a request beside temperature and seed, and the settings that say them. */
const CASES = [
  [{}, {}],
  [{ response_format: { type: "json_object" } }, { format: "json" }],
  [{ response_format: { type: "json_schema", json_schema: { name: "answer", schema } } }, { format: "schema", schema: JSON.stringify(schema, null, 2) }],
  [{ guided_regex: "[a-z]+" }, { format: "regex", schema: "[a-z]+" }],
  [{ guided_grammar: 'root ::= "yes"' }, { format: "grammar", schema: 'root ::= "yes"' }],
  [{ guided_choice: ["yes", "no"] }, { format: "choice", schema: "yes\nno" }],
  [{ system: "Be brief", reasoning_effort: "low", logprobs: true, top_logprobs: 5 }, { system: "Be brief", effort: "low", logprobs: true }],
  [{ tools: [{ type: "function", function: tool }], tool_choice: "required" }, { tools: JSON.stringify([tool], null, 2), toolChoice: "required" }],
  // What a lane says where it has none of what others have.
  [{ response_format: { type: "text" }, tools: [], tool_choice: "required", stop: [], logit_bias: {} }, {}],
  // What is so without a word has none.
  [{ tools: [{ type: "function", function: tool }], tool_choice: "auto" }, { tools: JSON.stringify([tool], null, 2) }],
  [{ model: "m", messages: [] }, { model: "m" }],
];

test("each field of a request has its place in the settings, and none is sampling that is not", () => {
  for (const [fields, settings] of CASES) {
    const sampling = { temperature: 0.5, seed: 7 };
    assert.deepEqual(settingsOf({ ...sampling, ...fields }), { sampling, ...settings });
  }
});
