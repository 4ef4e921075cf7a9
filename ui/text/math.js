// A formula: its source at once, its picture once nothing of it changes, its source again where there is no picture.

import { loadStyle, patient } from "../parts/later.js";
import { stir } from "./frame.js";
import { later } from "./idle.js";
import { patchBy } from "./patch.js";

const MAX_LENGTH = 4000;
// 100 to 150 levels end the tab of Chromium.
const MAX_DEPTH = 30;
const MAX_GROUPS = 60;
const BLOCKS = "p, li, td, th, h1, h2, h3, h4, h5, h6, blockquote, .sheet";

/** @typedef {{source: string, markup: string, isDisplay: boolean, isFinal: boolean}} Formula source "": it has no end yet */

/** @type {WeakMap<Element, Formula>} */
const formulas = new WeakMap();
/** @type {Promise<any> | null} */
let library = null;

// Both show the same, drawn or not.
patchBy("formula", (shown, wanted) => formulas.get(shown)?.markup === formulas.get(wanted)?.markup);

/** @param {any} token */
export function formula(token) {
  const { isDisplay } = token.meta;
  const element = document.createElement(isDisplay ? "div" : "span");
  element.className = isDisplay ? "formula display" : "formula";
  const source = document.createElement("code");
  source.textContent = token.markup;
  element.append(source);
  formulas.set(element, { source: token.content, markup: token.markup, isDisplay, isFinal: false });
  return element;
}

/** Nothing of it changes any more: it is drawn when there is time. @param {Element} element */
export function finishFormula(element) {
  const own = formulas.get(element);
  if (!own || own.isFinal) return;
  own.isFinal = true;
  if (!own.source || !isModest(own.source)) return;
  // All of them have the library at once, and are drawn one after the other.
  later(async () => {
    const katex = await (library ??= patient(load));
    later(() => draw(katex, element, own));
  });
}

/** Whether the library may be given that source. @param {string} source */
export function isModest(source) {
  let depth = 0;
  for (const character of source) {
    if (character === "{") depth += 1;
    if (character === "}") depth -= 1;
    if (depth > MAX_DEPTH) return false;
  }
  return source.length <= MAX_LENGTH && (source.match(/\\begin|\\left/g) ?? []).length <= MAX_GROUPS;
}

/** @param {any} katex @param {Element} element @param {Formula} own */
function draw(katex, element, { source, isDisplay }) {
  const target = document.createElement("span");
  try {
    katex.render(source, target, { displayMode: isDisplay, throwOnError: true, trust: false, strict: "ignore", maxExpand: 200, maxSize: 20, output: "htmlAndMathml" });
    element.replaceChildren(target);
    fit(/** @type {HTMLElement} */ (element));
    stir();
  } catch (error) {
    /** @type {HTMLElement} */ (element).title = error instanceof Error ? error.message : String(error);
  }
}

/** What is wider than its lines scrolls inside itself: the chat cuts off what reaches out of it. @param {HTMLElement} element */
function fit(element) {
  const block = element.closest(BLOCKS);
  if (!block || !element.isConnected) return;
  const { right } = element.getBoundingClientRect();
  const isWide = element.scrollWidth > element.clientWidth + 1 || right > block.getBoundingClientRect().right + 1;
  element.toggleAttribute("data-wide", isWide);
  if (isWide) element.tabIndex = 0;
}

async function load() {
  await loadStyle("../vendor/katex/katex");
  return (await import("../vendor/katex/katex.js")).default;
}
