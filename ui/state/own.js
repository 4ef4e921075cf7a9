// The tools that the page has itself: what a model is told of them, and what of them runs.

const text = { type: "string" };

/** None of them runs what a model wrote. */
const OWN = [
  {
    name: "agents",
    description: "Gives tasks to agents that work beside each other. Each knows its own task only, nothing of this conversation. Returns their answers.",
    parameters: { type: "object", properties: { tasks: { type: "array", items: text, minItems: 1 } }, required: ["tasks"] },
  },
  {
    name: "ask",
    description: "Asks the person a question and returns the answer.",
    parameters: { type: "object", properties: { question: text }, required: ["question"] },
  },
  { name: "date_and_time", description: "Returns the date and the time where the person is.", parameters: { type: "object", properties: {} } },
];

/** Those of the person, and before them the page's own whose names are free. @param {any[]} functions */
export function withOwn(functions) {
  const names = new Set(functions.map((tool) => tool.function.name));
  return [...OWN.filter(({ name }) => !names.has(name)).map((own) => ({ type: "function", function: own })), ...functions];
}

/** Whether that call is of what the page can do without the person. @param {import("../store/turns.js").TurnRecord} record @param {string} name */
export function isOurs({ request }, name) {
  const own = OWN.find((each) => each.name === name && name !== "ask");
  return Boolean(own) && (request?.tools ?? []).some((/** @type {any} */ tool) => tool.function?.description === own?.description);
}
