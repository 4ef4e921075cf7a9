// What of a lane's request is written: the form of its answer, and the tools it may call. What is typed stays as it is typed.

import { useState } from "../vendor/hooks.js";
import { CodeField } from "../parts/code-field.js";
import { FORMATS, FormText } from "../parts/form-text.js";
import { Pick } from "../parts/further-fields.js";
import { html } from "../parts/html.js";
import { draftOf, formOf, isForm, problemOf, toolsOf, writtenTools } from "../state/held.js";
import { Choice } from "./choice.js";

/** @typedef {import("../state/asked.js").Values} Values */
/** @typedef {{values: Values, none: string, onSet: (name: string, value: unknown) => void}} Written values: what is set; none: words for what is not, "" where that is the same as to have none */

export const TOOLS_EXAMPLE = '[{\n  "name": "weather",\n  "parameters": {\n    "type": "object",\n    "properties": {"city": {"type": "string"}}\n  }\n}]';

/** @param {Written} properties */
export function Form({ values, none, onSet }) {
  const { format, text } = formOf(values);
  const [typed, setTyped] = useState(text);
  const isSet = Object.keys(values).some(isForm);
  const put = (/** @type {Values} */ form) => {
    for (const name of Object.keys(values)) if (isForm(name) && !(name in form)) onSet(name, undefined);
    for (const [name, value] of Object.entries(form)) onSet(name, value);
  };
  const pick = (/** @type {string} */ picked) => {
    setTyped("");
    put(picked && (picked !== "text" || none) ? draftOf(picked, "") : {});
  };
  const take = (/** @type {string} */ written) => {
    setTyped(written);
    put(draftOf(format, written));
  };
  const shown = isSet || !none ? format : "";
  return html`<${Choice} id="value-output" label="Output" options=${none ? [["", none], ...FORMATS] : FORMATS} value=${shown} onPick=${pick} />
    <${FormText} id="value-form" format=${shown} value=${typed} onInput=${take} />`;
}

/** @param {Written} properties */
export function Functions({ values, none, onSet }) {
  const { tools, tool_choice: which } = values;
  const [typed, setTyped] = useState(tools === undefined ? "" : writtenTools(tools));
  const isNone = Array.isArray(tools) && !tools.length;
  const shown = tools === undefined ? (none ? "" : "none") : isNone ? "none" : "list";
  const pick = (/** @type {string} */ picked) => {
    setTyped("");
    onSet("tools", picked === "list" ? "" : picked === "none" && none ? [] : undefined);
    if (picked !== "list") onSet("tool_choice", undefined);
  };
  const take = (/** @type {string} */ written) => {
    setTyped(written);
    const tools = problemOf("tools", written) ? written : toolsOf(written);
    onSet("tools", tools.length ? tools : "");
  };
  /** @type {[string, string][]} */
  const options = [["none", "None"], ["list", "A list"]];
  return html`<${Choice} id="value-tools" label="Tools" options=${none ? [["", none], ...options] : options} value=${shown} onPick=${pick} />
    ${shown === "list" && html`<${CodeField} id="value-functions" label="Tools, as a list in JSON" placeholder=${TOOLS_EXAMPLE} value=${typed} isOptional=${true}
      problemOf=${(/** @type {string} */ text) => problemOf("tools", text)} onInput=${take} />`}
    ${(shown === "list" || which !== undefined) && html`<div class="parameter further"><label for="value-tool_choice">Which are called</label>
      <${Pick} id="value-tool_choice" none=${none || "Default"} options=${[["auto", "Auto"], ["required", "Required"], ["none", "None"]]} value=${which} onPick=${(/** @type {unknown} */ picked) => onSet("tool_choice", picked)} /></div>`}`;
}
