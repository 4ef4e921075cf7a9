// Colours of code: the highlighter's tree of tokens as elements. The markup that it would make is not used.

import { patient } from "../parts/later.js";
import { appendMarked } from "./marks.js";

const MAX_LENGTH = 40_000;
const MAX_LINE = 400;
const PROBE_LENGTH = 2000;
const PROBE_MS = 15;
const HOPELESS_MS = 60;
const LANGUAGES = new Set(
  "python typescript bash json cpp rust go java csharp sql xml css yaml ini diff markdown php ruby kotlin swift dockerfile makefile lua powershell r latex".split(" "),
);
/** Other names; of JavaScript and C, whose grammars are parts of those that colour them. */
const ALIASES = new Map(
  Object.entries({ py: "python", js: "typescript", "javascript": "typescript", ts: "typescript", sh: "bash", shell: "bash", c: "cpp", h: "cpp", "c++": "cpp", rs: "rust", "c#": "csharp", cs: "csharp", html: "xml", svg: "xml", yml: "yaml", toml: "ini", md: "markdown", rb: "ruby", kt: "kotlin", docker: "dockerfile", make: "makefile", tex: "latex" }),
);
// The scopes that get a colour; all others are plain.
const SCOPES = new Map(
  Object.entries({ keyword: "word", literal: "word", built_in: "name", type: "name", title: "name", name: "name", attr: "name", string: "string", regexp: "string", number: "number", comment: "comment", meta: "comment", doctag: "comment", addition: "string", deletion: "word" }),
);

/** What came or comes, by language: the highlighter that knows it. @type {Map<string, Promise<any>>} */
const loaded = new Map();

/** The language by the name that a model gave it; null: none that has colours. @param {string} info */
export function languageOf(info) {
  const name = info.toLowerCase();
  const language = ALIASES.get(name) ?? name;
  return LANGUAGES.has(language) ? language : null;
}

/** Whether code of that size may be coloured at all. @param {string} source */
export function isSmall(source) {
  return source.length <= MAX_LENGTH && !source.split("\n").some((line) => line.length > MAX_LINE);
}

/**
 * Returns what colours code of a language, or null for code of which a first part takes too long.
 * @param {string} language @param {string} source
 * @returns {Promise<((source: string) => DocumentFragment) | null>}
 */
export async function painter(language, source) {
  const highlighter = await load(language);
  const probe = () => {
    const start = performance.now();
    highlighter.highlight(source.slice(0, PROBE_LENGTH), { language });
    return performance.now() - start;
  };
  // A little too slow may have been the machine's other work; far too slow is the code.
  const onceMs = probe();
  if (onceMs > PROBE_MS && (onceMs > HOPELESS_MS || probe() > PROBE_MS)) return null;
  return (code) => {
    const coloured = document.createDocumentFragment();
    walk(highlighter.highlight(code, { language })._emitter.rootNode, coloured);
    return coloured;
  };
}

/** Fetches what colours a language, once. @param {string} language */
export function load(language) {
  const known = loaded.get(language) ?? fetched(language);
  loaded.set(language, known);
  return known;
}

// --- Internal

/** @param {string} language */
async function fetched(language) {
  try {
    const [{ default: highlighter }, grammar] = await patient(() =>
      Promise.all([import("../vendor/highlight/core.js"), import(`../vendor/highlight/${language}.js`)]),
    );
    highlighter.registerLanguage(language, grammar.default);
    // The first use compiles the grammar, which the probe must not count.
    highlighter.highlight(" ", { language });
    return highlighter;
  } catch (error) {
    loaded.delete(language);
    throw error;
  }
}

/** @param {any} node @param {Node} into */
function walk(node, into) {
  for (const child of node.children) {
    if (typeof child === "string") appendMarked(into, child);
    else {
      const kind = SCOPES.get(String(child.scope ?? "").split(".", 1)[0]);
      const target = kind ? into.appendChild(document.createElement("span")) : into;
      if (kind) /** @type {HTMLElement} */ (target).className = `code-${kind}`;
      walk(child, target);
    }
  }
}
