// The settings of a chat out of what a request says: what settings.js makes of them, undone.

import { formOf, isForm, writtenTools } from "./held.js";

/** @typedef {import("./settings.js").Settings} Settings */

/** @param {Record<string, any>} values @returns {Settings} */
export function settingsOf({ messages: _, model, top_logprobs: _count, ...values }) {
  const { system, reasoning_effort: effort, logprobs, tools, tool_choice: toolChoice, ...more } = values;
  const { format, text } = formOf(values);
  // A lane may say that there is none of what others have.
  const isNone = (/** @type {string} */ name, /** @type {any} */ value) => (name === "stop" && !value?.length) || (name === "logit_bias" && !Object.keys(value ?? {}).length);
  const sampling = Object.fromEntries(Object.entries(more).filter(([name, value]) => !isForm(name) && !isNone(name, value)));
  return {
    sampling,
    ...(format !== "text" && { format }),
    ...(text && { schema: text }),
    ...(model && { model }),
    ...(system && { system }),
    ...(effort && { effort }),
    ...(logprobs && { logprobs }),
    ...(tools?.length && { tools: writtenTools(tools), ...(toolChoice && toolChoice !== "auto" && { toolChoice }) }),
  };
}
