// The settings of a chat out of what a request says: what settings.js makes of them, undone.

import { formOf, isForm, writtenTools } from "./held.js";

/** @typedef {import("./settings.js").Settings} Settings */

/** @param {Record<string, any>} values @returns {Settings} */
export function settingsOf({ messages: _, model, top_logprobs: _count, ...values }) {
  const { system, reasoning_effort: effort, logprobs, tools, tool_choice: toolChoice, ...more } = values;
  const { format, text } = formOf(values);
  // A lane may say that there is nothing to stop at, where others have something.
  const sampling = Object.fromEntries(Object.entries(more).filter(([name, value]) => !isForm(name) && !(name === "stop" && !value?.length)));
  return {
    sampling,
    ...(format !== "text" && { format }),
    ...(text && { schema: text }),
    ...(model && { model }),
    ...(system && { system }),
    ...(effort && { effort }),
    ...(logprobs && { logprobs }),
    ...(tools?.length && { tools: writtenTools(tools), ...(toolChoice && { toolChoice }) }),
  };
}
