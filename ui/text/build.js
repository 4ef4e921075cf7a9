// Tokens of the parser to DOM nodes. No text of a model ever becomes markup: elements come from the list below,
// everything else is a text node.

import { boxOf, CodeBox } from "./code.js";
import { isAllowed, hostOf, warningFor } from "./links.js";
import { appendMarked } from "./marks.js";
import { finishFormula, formula } from "./math.js";

const TAGS = new Set("p h1 h2 h3 h4 h5 h6 ul ol li blockquote table thead tbody tr th td strong em s a sub sup kbd".split(" "));
// The first letter is of a script that runs from right to left.
const RIGHT_TO_LEFT = /^\P{L}*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

/** @param {any[]} tokens that were read @returns {DocumentFragment} */
export function build(tokens) {
  const into = document.createDocumentFragment();
  const builder = new Builder(into);
  for (const token of tokens) builder.take(token);
  return into;
}

/** Nothing of that node changes any more: it gets its colours and formulas. @param {Node} node */
export function finish(node) {
  if (!(node instanceof Element)) return;
  for (const element of [node, ...node.querySelectorAll("figure.code, .formula")]) {
    boxOf(element)?.finish();
    finishFormula(element);
  }
}

class Builder {
  /** @type {Node[]} */
  #stack;

  /** @param {Node} into */
  constructor(into) {
    this.#stack = [into];
  }

  /** @param {any} token */
  take(token) {
    if (token.nesting === 1) this.#open(token);
    else if (token.nesting === -1) this.#close(token);
    else this.#leaf(token);
  }

  get #at() {
    return this.#stack[this.#stack.length - 1];
  }

  /** @param {any} token */
  #open(token) {
    // A paragraph of a tight list has no element of its own.
    if (token.hidden) return;
    const element = document.createElement(TAGS.has(token.tag) ? token.tag : "span");
    if (token.tag === "table") this.#enter(scroller());
    if (token.tag === "ol" && token.attrGet("start") !== null) element.setAttribute("start", String(Number(token.attrGet("start"))));
    if (token.tag === "th" || token.tag === "td") align(element, token.attrGet("style") ?? "");
    if (token.tag === "a") this.#aim(/** @type {HTMLAnchorElement} */ (element), token.attrGet("href") ?? "");
    this.#enter(element);
  }

  /** @param {any} token */
  #close(token) {
    if (token.hidden) return;
    const element = this.#stack.pop();
    if (token.tag === "table") this.#stack.pop();
    if (!(element instanceof HTMLAnchorElement) || !element.href) return;
    const host = warningFor(element.href, element.textContent ?? "");
    if (host) this.#host(host);
  }

  /** @param {any} token */
  #leaf(token) {
    switch (token.type) {
      case "inline":
        for (const child of token.children) this.take(child);
        if (token.content[0] === "[") markTask(this.#at);
        if (RIGHT_TO_LEFT.test(token.content)) turn(this.#at);
        break;
      case "text":
        this.#at.appendChild(document.createTextNode(token.content));
        break;
      case "softbreak":
        this.#at.appendChild(document.createTextNode("\n"));
        break;
      case "hardbreak":
        this.#at.appendChild(document.createElement("br"));
        break;
      case "hr":
        this.#at.appendChild(document.createElement("hr"));
        break;
      case "code_inline":
        this.#code(token.content);
        break;
      case "fence":
      case "code_block":
        this.#at.appendChild(new CodeBox(token.info.trim().split(/\s+/, 1)[0], token.content).element);
        break;
      case "formula":
      case "formula_block":
        this.#at.appendChild(formula(token));
        break;
      case "image":
        this.#image(token);
        break;
      case "reference_definition":
        break;
      default:
        this.#at.appendChild(document.createTextNode(token.content));
    }
  }

  /** Pictures are never loaded: a request could carry the chat away. @param {any} token */
  #image(token) {
    const href = token.attrGet("src") ?? "";
    const link = document.createElement(isAllowed(href) ? "a" : "span");
    link.className = "picture";
    link.textContent = `image: ${token.content || "no text"}${hostOf(href) && ` (${hostOf(href)})`}`;
    if (link instanceof HTMLAnchorElement) this.#aim(link, href);
    this.#at.appendChild(link);
  }

  /** @param {HTMLAnchorElement} link @param {string} href */
  #aim(link, href) {
    if (!isAllowed(href)) return;
    link.href = href;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }

  /** @param {string} source */
  #code(source) {
    const element = document.createElement("code");
    appendMarked(element, source);
    this.#at.appendChild(element);
  }

  /** @param {string} host */
  #host(host) {
    const element = document.createElement("span");
    element.className = "host";
    element.textContent = ` (${host})`;
    this.#at.appendChild(element);
  }

  /** @param {HTMLElement} element */
  #enter(element) {
    this.#at.appendChild(element);
    this.#stack.push(element);
  }
}

/**
 * Text from right to left. Not by dir="auto": the browser would look for its direction again with each node added.
 * @param {Node} at where the text is
 */
function turn(at) {
  /** @type {HTMLElement} */ (at).dir = "rtl";
  const isFirstOfItem = at.parentNode instanceof HTMLLIElement && at.parentNode.firstChild === at;
  if (isFirstOfItem) /** @type {HTMLElement} */ (at.parentNode).dir = "rtl";
}

function scroller() {
  const box = document.createElement("div");
  box.className = "table-box";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Table");
  return box;
}

/** @param {HTMLElement} cell @param {string} style */
function align(cell, style) {
  if (style.includes("right")) cell.className = "right";
  else if (style.includes("center")) cell.className = "center";
}

/** A task that an item begins with; in a loose list its text is a paragraph. @param {Node} at where the text is */
function markTask(at) {
  const isFirst = at instanceof HTMLParagraphElement && at.parentNode?.firstChild === at;
  const item = at instanceof HTMLLIElement ? at : isFirst ? at.parentNode : null;
  const first = at.firstChild;
  const mark = first instanceof Text ? /^\[([ xX])\] /.exec(first.data) : null;
  if (!mark || !(item instanceof HTMLLIElement)) return;
  /** @type {Text} */ (first).deleteData(0, 4);
  const box = document.createElement("span");
  box.className = mark[1] === " " ? "task" : "task done";
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", mark[1] === " " ? "not done" : "done");
  at.insertBefore(box, first);
  // Not by :has() in the style sheet: with it each token costs a look at all items of the chat.
  item.className = "todo";
}
