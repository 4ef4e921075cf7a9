// A block of code: its language, its copy button, and its colours once it is whole.

import { copyButton } from "../parts/copy.js";

const MAX_LENGTH = 40_000;
const MAX_LINE = 400;
const PROBE_LENGTH = 2000;
const PROBE_MS = 15;
const LANGUAGES = new Set(
  "python javascript typescript bash json cpp c rust go java csharp sql xml css yaml ini diff markdown php ruby kotlin swift dockerfile makefile lua powershell r latex plaintext".split(" "),
);
const ALIASES = new Map(
  Object.entries({ py: "python", js: "javascript", ts: "typescript", sh: "bash", shell: "bash", "c++": "cpp", rs: "rust", "c#": "csharp", cs: "csharp", html: "xml", svg: "xml", yml: "yaml", toml: "ini", md: "markdown", rb: "ruby", kt: "kotlin", docker: "dockerfile", make: "makefile", tex: "latex", text: "plaintext" }),
);
// The scopes that get a colour; all others are plain.
const SCOPES = new Map(
  Object.entries({ keyword: "word", literal: "word", built_in: "name", type: "name", title: "name", name: "name", attr: "name", string: "string", regexp: "string", number: "number", comment: "comment", meta: "comment", doctag: "comment", addition: "string", deletion: "word" }),
);

/** @type {Promise<any> | null} */
let core = null;

/**
 * @param {string} source @param {string} info the language as the model named it
 * @param {boolean} isFinal whether it is coloured
 */
export function codeBox(source, info, isFinal) {
  const box = document.createElement("figure");
  box.className = "code";
  const head = document.createElement("figcaption");
  const name = document.createElement("span");
  name.textContent = info.slice(0, 40) || "code";
  const code = document.createElement("code");
  code.append(source);
  head.append(name, copyButton(() => code.textContent ?? "", "Copy code"));
  const frame = document.createElement("pre");
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", `Code, ${name.textContent}`);
  frame.dir = "ltr";
  frame.append(code);
  box.append(head, frame);
  if (isFinal) whenIdle(() => colour(code, source, info.toLowerCase()));
  return box;
}

/** @param {() => void} work */
export function whenIdle(work) {
  if ("requestIdleCallback" in window) requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 50);
}

/** @param {HTMLElement} code @param {string} source @param {string} info */
async function colour(code, source, info) {
  const language = ALIASES.get(info) ?? info;
  const isTooMuch = source.length > MAX_LENGTH || source.split("\n").some((line) => line.length > MAX_LINE);
  if (!LANGUAGES.has(language) || language === "plaintext" || isTooMuch) return;
  const highlighter = await load(language);
  const start = performance.now();
  highlighter.highlight(source.slice(0, PROBE_LENGTH), { language });
  if (performance.now() - start > PROBE_MS) return;
  // The tree of tokens, walked into spans: the markup that the highlighter would make is not used.
  const tree = highlighter.highlight(source, { language })._emitter.rootNode;
  const coloured = document.createDocumentFragment();
  walk(tree, coloured);
  code.replaceChildren(coloured);
}

/** @param {string} language */
async function load(language) {
  core ??= import("../vendor/highlight/core.js").then((module) => module.default);
  const highlighter = await core;
  if (!highlighter.getLanguage(language)) {
    const grammar = await import(`../vendor/highlight/${language}.js`);
    highlighter.registerLanguage(language, grammar.default);
    // The first use compiles the grammar, which the probe must not count.
    highlighter.highlight(" ", { language });
  }
  return highlighter;
}

/** @param {any} node @param {Node} into */
function walk(node, into) {
  for (const child of node.children) {
    if (typeof child === "string") into.appendChild(document.createTextNode(child));
    else {
      const kind = SCOPES.get(String(child.scope ?? "").split(".", 1)[0]);
      const target = kind ? into.appendChild(document.createElement("span")) : into;
      if (kind) /** @type {HTMLElement} */ (target).className = `code-${kind}`;
      walk(child, target);
    }
  }
}
