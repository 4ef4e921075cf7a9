// The forms that an answer can be held to, and the text of one that has one.

import { problemOf } from "../state/held.js";
import { CodeField } from "./code-field.js";
import { html } from "./html.js";

/** @type {[string, string][]} */
export const FORMATS = [["text", "Text"], ["json", "JSON"], ["schema", "Schema"], ["regex", "Regex"], ["grammar", "Grammar"], ["choice", "Choice"]];
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

/** Nothing for plain text. @param {{id: string, format: string, value: string, isTitled?: boolean, onInput: (text: string) => void}} properties */
export function FormText({ id, format, value, isTitled, onInput }) {
  const form = FORMS[format];
  if (!form) return format === "json" && html`<p class="about">The answer is one JSON object.</p>`;
  return html`<${CodeField} key=${format} id=${id} label=${form.label} isTitled=${isTitled} placeholder=${form.placeholder} value=${value} isOptional=${format === "schema"}
      problemOf=${(/** @type {string} */ text) => problemOf(format, text)} onInput=${onInput} />
    <p class="about">${form.about}</p>`;
}
