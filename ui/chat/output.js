// The form that answers are held to.

import { html } from "../parts/html.js";
import { CodeField } from "../parts/code-field.js";
import { Segments } from "../parts/segments.js";
import { problemOf } from "../state/held.js";
import { set, settings } from "../state/settings.js";

/** @type {[string, string][]} */
const FORMATS = [["text", "Text"], ["json", "JSON"], ["schema", "Schema"], ["regex", "Regex"], ["grammar", "Grammar"], ["choice", "Choice"]];
/** @type {Record<string, {label: string, placeholder: string, about: string}>} */
const FORMS = {
  schema: {
    label: "JSON schema",
    placeholder: '{\n  "type": "object",\n  "properties": {"name": {"type": "string"}},\n  "required": ["name"]\n}',
    about: "The answer is JSON that the schema allows.",
  },
  regex: { label: "Expression", placeholder: "[A-Z][a-z]+( [A-Z][a-z]+)*", about: "The whole answer matches it; Rust’s syntax, no look-around." },
  grammar: { label: "Grammar", placeholder: 'root ::= "yes" | "no"', about: "GBNF, from root ::=, or Lark, from start:." },
  choice: { label: "Answers, one a line", placeholder: "yes\nno", about: "The answer is one of these lines." },
};

export function Output() {
  const { format = "text", schema = "" } = settings.value;
  const form = FORMS[format];
  // Each form has a text of its own kind: one that goes away is not one of another.
  const pick = (/** @type {string} */ picked) => set({ format: picked === "text" ? undefined : picked, schema: undefined });
  return html`<section><h2>Output</h2>
    <div class="wrapped"><${Segments} name="format" label="Output" options=${FORMATS} value=${format} onPick=${pick} /></div>
    ${format === "json" && html`<p class="about">The answer is one JSON object.</p>`}
    ${form &&
    html`<${CodeField} key=${format} id="schema" label=${form.label} placeholder=${form.placeholder} value=${schema} isOptional=${format === "schema"}
        problemOf=${(/** @type {string} */ text) => problemOf(format, text)} onInput=${(/** @type {string} */ text) => set({ schema: text })} />
      <p class="about">${form.about}</p>`}
  </section>`;
}
