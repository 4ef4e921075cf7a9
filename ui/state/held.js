// What an answer is held to, and the tools it may call, as a person writes them: read, or refused in words.

/** @typedef {"schema" | "regex" | "grammar" | "choice"} Format */

const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const FORM_FIELDS = new Set(["response_format", "guided_regex", "guided_grammar", "guided_choice"]);
const TOOL_NAME = /^[\w-]{1,64}$/;

/** Why that text cannot be sent in that form; "" where it can, as far as the page knows. @param {string} format @param {string} text */
export function problemOf(format, text) {
  if (format === "schema") return problem(() => schemaOf(text));
  if (format === "regex") return problem(() => regexOf(text));
  if (format === "grammar") return problem(() => grammarOf(text));
  if (format === "choice") return problem(() => choicesOf(text));
  if (format === "tools") return problem(() => toolsOf(text));
  return "";
}

/** A JSON schema. Raises SyntaxError. @param {string} text */
export function schemaOf(text) {
  const schema = parsed(text.trim() || "{}", "The schema");
  checkSchema(schema, "The schema");
  if (schema === false) throw new SyntaxError("The schema false allows no answer.");
  return schema;
}

/** An expression of Rust's syntax, which knows neither look-around nor back references. Raises SyntaxError. @param {string} text */
export function regexOf(text) {
  if (!text) throw new SyntaxError("The expression is empty.");
  // Escapes and classes hide what would else be a sign.
  const bare = text.replace(/\\[1-9]/g, "\u0001").replace(/\\./gs, "_");
  if (bare.includes("\u0001")) throw new SyntaxError("The expression refers back to a group (\\1), which is not served.");
  const outside = bare.replace(/\[\^?\]?[^\]]*\]/g, "_");
  if (/\(\?(?:[=!]|<[=!])/.test(outside)) throw new SyntaxError("The expression looks around (?=…), which is not served.");
  if (outside.includes("[")) throw new SyntaxError("The expression has a [ without its ].");
  let depth = 0;
  for (const sign of outside) {
    if (sign === "(") depth += 1;
    if (sign === ")" && (depth -= 1) < 0) throw new SyntaxError("The expression has a ) without its (.");
  }
  if (depth) throw new SyntaxError("The expression has a ( without its ).");
  return text;
}

/** GBNF or Lark, by what it begins at. Raises SyntaxError. @param {string} text */
export function grammarOf(text) {
  if (!/^\s*(?:root\s*::=|\??!?start(?:\.\d+)?\s*:)/m.test(text)) {
    throw new SyntaxError("The grammar has no beginning: GBNF has a rule “root ::= …”, Lark one “start: …”.");
  }
  return text;
}

/** Answers, one a line. Raises SyntaxError. @param {string} text */
export function choicesOf(text) {
  const choices = [...new Set(text.split("\n").map((line) => line.trim()).filter(Boolean))];
  if (!choices.length) throw new SyntaxError("There is no answer to choose from: write one a line.");
  return choices;
}

/** Functions, with or without what the API wraps them in. Raises SyntaxError. @param {string} text */
export function toolsOf(text) {
  if (!text.trim()) return [];
  const tools = parsed(text, "The list of tools");
  if (!Array.isArray(tools)) throw new SyntaxError("The tools are no list: write [ … ] around them.");
  const names = new Set();
  return tools.map((tool, at) => {
    const own = tool?.function ?? tool;
    const place = `Tool ${at + 1}`;
    if (typeof own?.name !== "string" || !TOOL_NAME.test(own.name)) throw new SyntaxError(`${place} has no name of letters, figures, _ and -.`);
    if (names.has(own.name)) throw new SyntaxError(`${place} has the name of another one: ${own.name}.`);
    names.add(own.name);
    if (own.parameters !== undefined) checkSchema(own.parameters, `“parameters” of ${own.name}`);
    return { type: "function", function: own };
  });
}

/** Tools as a person writes them: without what the API wraps them in. @param {any} tools those of a request, or what is typed and cannot be read yet */
export function writtenTools(tools) {
  return typeof tools === "string" ? tools : JSON.stringify(tools.map((/** @type {any} */ tool) => tool.function ?? tool), null, 2);
}

/** Token ids with what is added to each. Raises SyntaxError. @param {string} text @returns {Record<string, number> | undefined} */
export function biasOf(text) {
  if (!text.trim()) return undefined;
  const bias = parsed(text, "The list");
  const isSound = typeof bias === "object" && bias !== null && !Array.isArray(bias) && Object.entries(bias).every(([id, value]) => /^\d+$/.test(id) && Number.isFinite(value));
  if (!isSound) throw new SyntaxError('Write token ids with numbers: {"42": -1.5}');
  return bias;
}

/** The same while it is written: text that cannot be read yet stands where they would, and is never sent. @param {string} text */
export function draftOfBias(text) {
  return problem(() => biasOf(text)) ? text : biasOf(text);
}

/** What a request says to hold its answer to that form. Raises SyntaxError. @param {string} format @param {string} text @returns {Record<string, any>} */
export function fieldsOf(format, text) {
  if (format === "json") return { response_format: { type: "json_object" } };
  if (format === "schema") return formed(schemaOf(text));
  if (format === "regex") return { guided_regex: regexOf(text) };
  if (format === "grammar") return { guided_grammar: grammarOf(text) };
  return format === "choice" ? { guided_choice: choicesOf(text) } : {};
}

/** The same while it is written: text that cannot be read yet stands where its form would, and is never sent. @param {string} format @param {string} text @returns {Record<string, any>} */
export function draftOf(format, text) {
  if (format === "text") return { response_format: { type: "text" } };
  if (!problemOf(format, text)) return fieldsOf(format, text);
  return format === "schema" ? formed(text) : { [`guided_${format}`]: text };
}

/** The form that a request holds its answer to, and its text. @param {Record<string, any>} values */
export function formOf({ response_format: form, guided_regex: regex, guided_grammar: grammar, guided_choice: choices }) {
  const schema = form?.json_schema?.schema;
  if (schema !== undefined) return { format: "schema", text: typeof schema === "string" ? schema : JSON.stringify(schema, null, 2) };
  if (form && form.type !== "text") return { format: "json", text: "" };
  if (regex !== undefined) return { format: "regex", text: regex };
  if (grammar !== undefined) return { format: "grammar", text: grammar };
  return choices !== undefined ? { format: "choice", text: typeof choices === "string" ? choices : choices.join("\n") } : { format: "text", text: "" };
}

/** Whether a request's field is one of those that hold its answer to a form. @param {string} name */
export function isForm(name) {
  return FORM_FIELDS.has(name);
}

/** What of a request was written and cannot be sent, in words; "" for nothing. @param {Record<string, any>} values */
export function heldProblem(values) {
  const { format, text } = formOf(values);
  return problemOf(format, text) || (typeof values.tools === "string" ? problemOf("tools", values.tools) : "");
}

/** The reason in words; "" for none. @param {() => unknown} read */
export function problem(read) {
  try {
    read();
    return "";
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return error.message;
  }
}

// --- Internal

/** @param {unknown} schema */
function formed(schema) {
  return { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } };
}

/** @param {string} text @param {string} what @returns {any} */
function parsed(text, what) {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { message } = /** @type {SyntaxError} */ (error);
    const at = /position (\d+)/.exec(message);
    const line = at ? ` in line ${text.slice(0, Number(at[1])).split("\n").length}` : "";
    throw new SyntaxError(`${what} is no JSON${line}: ${message.replace(/ in JSON.*| \(line.*/s, "")}.`);
  }
}

/** @param {any} schema @param {string} place */
function checkSchema(schema, place) {
  if (typeof schema === "boolean") return;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) throw new SyntaxError(`${place} is neither an object nor true or false.`);
  const { type, properties, required, items, enum: values, $defs } = schema;
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type];
  const wrong = types.find((each) => !TYPES.has(each));
  if (wrong !== undefined) throw new SyntaxError(`${place} has the type ${JSON.stringify(wrong)}; there are ${[...TYPES].join(", ")}.`);
  if (values !== undefined && (!Array.isArray(values) || !values.length)) throw new SyntaxError(`${place}: “enum” is a list with something in it.`);
  if (required !== undefined && (!Array.isArray(required) || required.some((each) => typeof each !== "string"))) throw new SyntaxError(`${place}: “required” is a list of names.`);
  for (const [name, inner] of [["properties", properties], ["$defs", $defs]]) {
    if (inner === undefined) continue;
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) throw new SyntaxError(`${place}: “${name}” is an object of schemas.`);
    for (const [key, each] of Object.entries(inner)) checkSchema(each, `“${key}”`);
  }
  if (items !== undefined) checkSchema(items, `“items” of ${place}`);
  for (const name of ["anyOf", "oneOf", "allOf"]) {
    if (schema[name] === undefined) continue;
    if (!Array.isArray(schema[name]) || !schema[name].length) throw new SyntaxError(`${place}: “${name}” is a list of schemas.`);
    for (const each of schema[name]) checkSchema(each, `“${name}” of ${place}`);
  }
}
