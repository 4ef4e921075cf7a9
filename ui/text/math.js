// A formula: its source at once, its picture once nothing of it changes, its source again where there is no picture.

import { whenIdle } from "./code.js";

const MAX_LENGTH = 4000;
// 100 to 150 levels end the tab of Chromium.
const MAX_DEPTH = 30;
const MAX_GROUPS = 60;

/** @type {Promise<any> | null} */
let library = null;

/** @param {any} token @param {boolean} isFinal */
export function formula(token, isFinal) {
  const element = document.createElement(token.meta.isDisplay ? "div" : "span");
  element.className = token.meta.isDisplay ? "formula display" : "formula";
  const source = document.createElement("code");
  source.textContent = token.markup;
  element.append(source);
  if (isFinal && token.content) whenIdle(() => draw(element, token.content, token.meta.isDisplay));
  return element;
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

/** @param {HTMLElement} element @param {string} source @param {boolean} isDisplay */
async function draw(element, source, isDisplay) {
  if (!isModest(source)) return;
  const katex = await (library ??= load());
  const target = document.createElement("span");
  try {
    katex.render(source, target, { displayMode: isDisplay, throwOnError: true, trust: false, strict: "ignore", maxExpand: 200, maxSize: 20, output: "htmlAndMathml" });
    element.replaceChildren(target);
  } catch (error) {
    element.title = error instanceof Error ? error.message : String(error);
  }
}

async function load() {
  const styles = document.createElement("link");
  styles.rel = "stylesheet";
  styles.href = new URL("../vendor/katex/katex.css", import.meta.url).href;
  document.head.append(styles);
  return (await import("../vendor/katex/katex.js")).default;
}
