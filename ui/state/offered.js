// The fields of a request that the page offers to set, in their order; ranges and texts are the server's.

/** slide: from where to where a slider goes; null: there is no use in one. */
export const OFFERED = [
  { name: "temperature", label: "Temperature", step: 0.05, slide: [0, 2] },
  { name: "top_p", label: "Top p", step: 0.01, slide: [0, 1] },
  { name: "top_k", label: "Top k", step: 1, slide: [0, 200] },
  { name: "min_p", label: "Min p", step: 0.01, slide: [0, 1] },
  { name: "repetition_penalty", label: "Repetition", step: 0.05, slide: [0.5, 2] },
  { name: "presence_penalty", label: "Presence", step: 0.1, slide: [-2, 2] },
  { name: "frequency_penalty", label: "Frequency", step: 0.1, slide: [-2, 2] },
  { name: "max_completion_tokens", label: "Max tokens", step: 1, slide: null },
  { name: "seed", label: "Seed", step: 1, slide: null },
];

/** How much is thought at most, where the model thinks. */
export const BUDGET = { name: "thinking_budget", label: "Budget", step: 1, slide: null };

/** @type {{name: string, label: string, kind: "lines" | "bias" | "choice", options: [unknown, string][]}[]} those that are seldom set */
export const FURTHER = [
  { name: "stop", label: "Stop at", kind: "lines", options: [] },
  { name: "logit_bias", label: "Logit bias", kind: "bias", options: [] },
  { name: "class", label: "Class", kind: "choice", options: [["interactive", "Interactive"], ["agent", "Agent"]] },
  { name: "parallel_tool_calls", label: "Parallel calls", kind: "choice", options: [[true, "Yes"], [false, "No"]] },
  { name: "preserve_thinking", label: "Keep reasoning", kind: "choice", options: [[true, "Yes"], [false, "No"]] },
  { name: "ignore_eos", label: "Ignore the end", kind: "choice", options: [[true, "Yes"], [false, "No"]] },
];

/**
 * What of thinking can be chosen, as values with words; nothing where the model does not think.
 * @param {import("../api/models.js").Model["capabilities"]} [capabilities] @param {string} [chosen] can be taken back where the model has it not
 * @returns {[string, string][]}
 */
export function effortsOf(capabilities, chosen = "") {
  const efforts = capabilities?.thinking ? ["none", ...capabilities.thinking_efforts.filter((effort) => effort !== "none")] : [];
  if (chosen && !efforts.includes(chosen)) efforts.push(chosen);
  if (!efforts.length) return [];
  return [["", "Model’s"], ...efforts.map((effort) => /** @type {[string, string]} */ ([effort, effort === "none" ? "Off" : effort[0].toUpperCase() + effort.slice(1)]))];
}

/** All fields that the settings of a chat may have for its requests. */
export const NAMES = new Set([...OFFERED, BUDGET, ...FURTHER].map(({ name }) => name));
