// Where tasks are written, with what all of them are told and how far each may go.

import { countTokens } from "../api/tokenize.js";
import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { NumberBox } from "../parts/number.js";
import { Icon } from "../shell/icons.js";
import { NoModel } from "../shell/no-model.js";
import { open, run, set, shelf, tasksIn, useExample, waitingOf } from "../state/agents.js";
import { MAX_LANES } from "../state/slots.js";
import { obstacleTo } from "../state/obstacle.js";
import { answering, fields } from "../state/server.js";

const PAUSE_MS = 250;
const EXAMPLES = [
  {
    name: "One reader, several questions",
    system: "You answer questions about this note in one sentence.\n\nThe harbour office opens at eight. Boats under ten metres pay five crowns a night, longer ones nine. Water is free, electricity is not. The crane needs a day's notice. Dogs are welcome on the quay but not in the showers.",
    tasks: ["When does the office open?", "What does a boat of twelve metres pay?", "Is water free?", "May my dog come into the showers?", "How do I get the crane?"],
  },
  { name: "Several views of one plan", system: "The plan: a small town closes its main street to cars on Sundays. Answer in three sentences.", tasks: ["As a shopkeeper", "As a parent", "As a bus driver", "As the mayor"] },
  { name: "A batch of small jobs", system: "", tasks: ["Write a haiku about fog", "Name five uses of a brick", "Explain a tide to a child", "Give a recipe for pancakes"] },
];

export function Form() {
  const series = open.value;
  const values = series.values.value;
  const text = series.prompt.value;
  const typed = tasksIn(text);
  const numWaiting = waitingOf(series).length;
  const numToRun = typed.length + numWaiting;
  const thinks = answering.value?.capabilities?.thinking;
  const isElsewhere = series.isElsewhere.value;
  const problem = obstacleTo(values) || (isElsewhere ? "Another tab runs this list" : "");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (numToRun && !problem) run();
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    // Enter begins the next task.
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return html`<form class="task-form" onSubmit=${submit} onKeyDown=${press}>
    <${NoModel} />
    <div class="shared">
      <label class="title" for="task-system">System prompt of all tasks <${Count} text=${values.system ?? ""} /></label>
      <textarea class="field" id="task-system" rows="3" placeholder="None: the model’s own. What all tasks share is read once." value=${values.system ?? ""} disabled=${isElsewhere}
        onInput=${(/** @type {any} */ event) => set("system", event.target.value || undefined)}></textarea>
    </div>
    <div class="box">
      <label class="reader" for="prompt">Tasks, one a line</label>
      <textarea id="prompt" rows="3" placeholder="One task a line. With an empty line between them, a task may have several." value=${text} onInput=${(/** @type {any} */ event) => shelf.type(event.target.value)}></textarea>
      <div class="under">
        <${Limit} name="max_completion_tokens" label="Max tokens" value=${values.max_completion_tokens} isDisabled=${isElsewhere} />
        <${Limit} name="temperature" label="Temperature" value=${values.temperature} isDisabled=${isElsewhere} />
        ${thinks && html`<${Limit} name="thinking_budget" label="Thinking" value=${values.thinking_budget} isDisabled=${isElsewhere} />`}
        <span class="go"><span class="about at-once">${MAX_LANES} at once at most</span>
          <button type="submit" class="button main" id="run" title=${problem || "Run (Ctrl Enter)"} disabled=${!numToRun || problem !== ""}><${Icon} name="again" />Run${numToRun ? ` ${numToRun}` : ""}</button></span>
      </div>
    </div>
    ${!series.lanes.value.length && !text && html`<div class="examples" role="group" aria-label="Examples">${EXAMPLES.map((example) => html`<button type="button" class="button" key=${example.name} onClick=${() => useExample(example)}>${example.name}</button>`)}</div>`}
  </form>`;
}

/** @param {{name: string, label: string, value: number | undefined, isDisabled: boolean}} properties */
function Limit({ name, label, value, isDisabled }) {
  const range = fields.value.get(name);
  return html`<label class="limit" title=${range?.description}>${label}
    <${NumberBox} id=${`limit-${name}`} value=${value} placeholder=${answering.value?.defaults?.[name] ?? "auto"} range=${range} isDisabled=${isDisabled} onSet=${(/** @type {number | undefined} */ number) => set(name, number)} /></label>`;
}

/** How many tokens that text is. @param {{text: string}} properties */
function Count({ text }) {
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (!text) return setCount(0);
    const controller = new AbortController();
    const timer = setTimeout(() => countTokens(text, controller.signal).then(setCount, () => setCount(0)), PAUSE_MS);
    return () => (clearTimeout(timer), controller.abort());
  }, [text]);
  return html`<span class="about">${count ? `${count.toLocaleString("en")} tokens` : ""}</span>`;
}
