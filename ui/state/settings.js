// What the next request of the open chat says: only what was set, and a seed.

import { computed } from "../vendor/signals-core.js";
import { change, open } from "./chats.js";
import { messagesOf } from "./content.js";
import { fieldsOf, toolsOf } from "./held.js";
import { withOwn } from "./own.js";
import { problemIn } from "./range.js";

/** @typedef {{system?: string, sampling?: Record<string, any>, effort?: string, format?: string, schema?: string, tools?: string,
 *   toolChoice?: string, ownTools?: boolean, logprobs?: boolean, preset?: string, model?: string}} Settings schema: the text of whatever form the answer is held to; tools:
 *   JSON as it is written; preset: the one that these began as; model: the one that requests name */

const NUM_ALTERNATIVES = 5;

export const settings = computed(() => /** @type {Settings} */ (open.value.settings));
export const numSet = computed(() => Object.keys(settings.value.sampling ?? {}).length);

// --- Actions

/** @param {Partial<Settings>} changes */
export function set(changes) {
  return change({ settings: { ...settings.value, ...changes } });
}

/** @param {string} name @param {unknown} value undefined leaves it to the model */
export function setSampling(name, value) {
  const sampling = { ...settings.value.sampling };
  if (value === undefined) delete sampling[name];
  else sampling[name] = value;
  return set({ sampling });
}

export function resetSampling() {
  return set({ sampling: {} });
}

/**
 * The request that answers the path. Raises a SyntaxError for a number, a form or tools that cannot be sent.
 * @param {import("./turn.js").Turn[]} path @param {number} seed @param {Settings} [said]
 */
export function requestFor(path, seed, said = settings.value) {
  const { model, system = "", sampling = {}, effort, format, schema = "", tools = "", toolChoice, ownTools, logprobs } = said;
  const messages = path.flatMap(({ record }) => messagesOf(record));
  if (system.trim()) messages.unshift({ role: "system", content: system });
  const problem = problemIn(sampling);
  if (problem) throw new SyntaxError(problem);
  /** @type {Record<string, any>} */
  const request = { ...(model ? { model } : {}), messages, ...sampling, seed: sampling.seed ?? seed };
  if (logprobs) Object.assign(request, { logprobs: true, top_logprobs: NUM_ALTERNATIVES });
  if (effort) request.reasoning_effort = effort;
  if (format) Object.assign(request, fieldsOf(format, schema));
  const functions = ownTools && said.tools !== undefined ? withOwn(toolsOf(tools)) : toolsOf(tools);
  if (functions.length) Object.assign(request, { tools: functions, ...(toolChoice ? { tool_choice: toolChoice } : {}) });
  return request;
}
