// The settings of a chat out of what a request says: what settings.js makes of them, undone.

/** @typedef {import("./settings.js").Settings} Settings */

/** @param {Record<string, any>} values @returns {Settings} */
export function settingsOf({ messages: _, model, top_logprobs: _count, ...values }) {
  const { system, reasoning_effort: effort, logprobs, response_format: form, guided_regex: regex, guided_grammar: grammar, guided_choice: choices, ...more } = values;
  const { tools, tool_choice: toolChoice, ...sampling } = more;
  const schema = form?.json_schema?.schema;
  /** @type {Settings} */
  const held = form ? (schema === undefined ? { format: "json" } : { format: "schema", schema: JSON.stringify(schema, null, 2) })
    : regex !== undefined ? { format: "regex", schema: regex }
      : grammar !== undefined ? { format: "grammar", schema: grammar }
        : choices ? { format: "choice", schema: choices.join("\n") } : {};
  return {
    sampling,
    ...held,
    ...(model && { model }),
    ...(system && { system }),
    ...(effort && { effort }),
    ...(logprobs && { logprobs }),
    ...(tools && { tools: JSON.stringify(tools.map((/** @type {any} */ tool) => tool.function), null, 2) }),
    ...(toolChoice && { toolChoice }),
  };
}
