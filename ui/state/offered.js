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
