// Draws /v1/openapi.json as a page. Everything in it is shown as text; nothing is fetched from elsewhere.

const METHODS = ["get", "post", "put", "patch", "delete"];
const SHARED = "answers-of-every-route";

// --- Lifecycle

// Without one the examples run as they stand.
const hasKey = fetch("../models").then((answer) => answer.status === 401, () => false);
const state = document.getElementById("state");
try {
  const response = await fetch("../openapi.json");
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  draw(await response.json(), await hasKey);
} catch (error) {
  state.textContent = `The reference could not be read: ${error.message}`;
}

function draw(specification, hasKey) {
  const reference = document.getElementById("reference");
  const contents = document.getElementById("contents");
  const operations = Object.entries(specification.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => ({ path, method, hasKey, ...methods[method] })));
  const schemas = Object.entries(specification.components.schemas);
  const cards = [
    heading("Routes"), ...operations.map((operation) => operationCard(operation, specification)),
    sharedAnswersCard(specification),
    heading("Bodies"), ...schemas.map(([name, schema]) => schemaCard(name, schema)),
  ];
  contents.append(
    contentsPart("Routes", [
      ...operations.map(({ path, method, operationId }) => [operationId, `${method.toUpperCase()} ${path}`]),
      [SHARED, "Answers of every route"],
    ]),
    contentsPart("Bodies", schemas.map(([name]) => [name, name])),
  );
  // Last of all, so that what cannot be drawn is told in its place.
  reference.querySelector("h1").textContent = `${specification.info.title} ${specification.info.version}`;
  state.replaceWith(...paragraphs(specification.info.description), ...cards);
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

// --- Cards

function operationCard(operation, specification) {
  const title = element("h3", {}, element("span", { className: "method" }, operation.method.toUpperCase()),
    element("code", {}, operation.path));
  const card = element("article", { id: operation.operationId }, title, element("p", {}, ...inline(operation.summary)));
  if (operation.description) card.append(...paragraphs(operation.description));
  if (operation.security?.length === 0) card.append(element("p", { className: "open" }, "Needs no key."));
  const body = operation.requestBody?.content["application/json"].schema;
  if (body) card.append(element("h4", {}, "Body"), element("p", {}, typeOf(body)));
  card.append(...parametersOf(operation));
  card.append(element("h4", {}, "Call"), element("pre", {}, element("code", {}, curl(operation, specification))));
  const answers = Object.entries(operation.responses);
  const shared = answers.filter(([, answer]) => answer.$ref).map(([status]) => status);
  card.append(element("h4", {}, "Answers"), answerList(answers.filter(([, answer]) => !answer.$ref)));
  if (shared.length) {
    card.append(element("p", {}, "And, as ", element("a", { href: `#${SHARED}` }, "every route"), `: ${shared.join(", ")}.`));
  }
  return card;
}

function parametersOf(operation) {
  const rows = (operation.parameters ?? []).filter((parameter) => parameter.in === "query").flatMap((parameter) => [
    element("dt", {}, element("code", {}, parameter.name)),
    element("dd", {}, ...inline(parameter.description ?? "")),
  ]);
  return rows.length ? [element("h4", {}, "Query"), element("dl", {}, ...rows)] : [];
}

function sharedAnswersCard(specification) {
  return element("article", { id: SHARED }, element("h3", {}, "Answers of every route"),
    answerList(Object.entries(specification.components.responses)));
}

function answerList(answers) {
  return element("dl", {}, ...answers.flatMap(([status, answer]) => [
    element("dt", {}, element("code", {}, status)),
    element("dd", {}, ...inline(answer.description), ...answerTypes(answer)),
  ]));
}

function schemaCard(name, schema) {
  const card = element("article", { id: name }, element("h3", {}, name));
  if (schema.description) card.append(...paragraphs(schema.description));
  if (!schema.properties) return card;
  const needed = new Set(schema.required ?? []);
  const isFieldTable = Object.values(schema.properties).some((field) => field["x-ignis"]);
  const head = ["Field", "Type", ...(isFieldTable ? ["Kind"] : []), "What it does"];
  const rows = Object.entries(schema.properties).map(([field, declared]) => {
    const kind = declared["x-ignis"] ?? "";
    const cells = [
      element("td", { className: needed.has(field) ? "needed" : "" }, element("code", {}, field)),
      element("td", {}, typeOf(declared)),
      ...(isFieldTable ? [element("td", { className: kind }, kind)] : []),
      element("td", {}, ...inline((declared.description ?? "").replace(/^(Inert|Refused): /, ""))),
    ];
    return element("tr", {}, ...cells);
  });
  const table = element("table", {},
    element("thead", {}, element("tr", {}, ...head.map((text) => element("th", {}, text)))),
    element("tbody", {}, ...rows));
  card.append(element("div", { className: "scroll", tabIndex: 0 }, table));
  return card;
}

function contentsPart(title, entries) {
  const links = entries.map(([id, text]) => element("li", {}, element("a", { href: `#${id}` }, text)));
  return element("div", {}, element("h2", {}, title), element("ul", {}, ...links));
}

function heading(text) {
  return element("h2", {}, text);
}

// --- Words

function typeOf(schema) {
  const span = element("span");
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    span.append(element("a", { href: `#${name}` }, name));
  } else if (schema.anyOf) {
    const alternatives = schema.anyOf.filter((alternative) => alternative.type !== "null");
    alternatives.forEach((alternative, index) => span.append(...(index ? [" or "] : []), typeOf(alternative)));
  } else if (schema.enum) {
    span.append(schema.enum.map((value) => JSON.stringify(value)).join(" or "));
  } else if (schema.type === "array") {
    span.append("array of ", typeOf(schema.items ?? {}), lengths(schema));
  } else {
    span.append((schema.type ?? "any") + range(schema));
  }
  return span;
}

function range({ minimum, exclusiveMinimum, maximum }) {
  const low = exclusiveMinimum === undefined ? minimum : exclusiveMinimum;
  if (low === undefined && maximum === undefined) return "";
  if (maximum === undefined) return `, at least ${low}`;
  return `, ${exclusiveMinimum === undefined ? "" : "above "}${low} to ${maximum}`;
}

function lengths({ minItems, maxItems }) {
  if (maxItems === undefined) return "";
  return `, ${minItems ?? 0} to ${maxItems}`;
}

function answerTypes(answer) {
  return Object.entries(answer.content ?? {}).flatMap(([kind, { schema }]) =>
    schema.$ref ? [" ", element("code", {}, kind), " ", typeOf(schema)] : []);
}

function curl(operation, specification) {
  const name = operation.requestBody?.content["application/json"].schema.$ref?.split("/").at(-1);
  const isPlain = operation.method === "get" || name;
  const method = isPlain ? "" : `-X ${operation.method.toUpperCase()} `;
  const words = [`curl ${method}'${location.origin}${operation.path}'`];
  if (operation.hasKey && operation.security?.length !== 0) words.push('-H "Authorization: Bearer $IGNIS_KEY"');
  if (name) {
    words.push("-H 'Content-Type: application/json'");
    words.push(`-d '${JSON.stringify(example(specification.components.schemas[name]))}'`);
  }
  return words.join(" \\\n  ");
}

/** A small body that a schema takes, by the first of these fields that it has. */
function example({ properties, required = [] }) {
  const values = {
    messages: [{ role: "user", content: "Hello" }],
    input: "Hello",
    prompt: "Once upon a time",
    token_ids: [0],
    model: "name",
  };
  const field = Object.keys(values).find((candidate) => candidate in properties);
  const body = { [field]: values[field] };
  return required.includes("max_tokens") ? { ...body, max_tokens: 100 } : body;
}

function paragraphs(text) {
  return text.trim().split(/\n\n+/).map((part) => element("p", {}, ...inline(part)));
}

/** Text with `code` in it. */
function inline(text) {
  return text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
