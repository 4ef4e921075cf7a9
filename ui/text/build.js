// Tokens of the parser to DOM nodes. No text of a model ever becomes markup: elements come from the list below,
// everything else is a text node.

import { codeBox } from "./code.js";
import { isAllowed, hostOf, warningFor } from "./links.js";
import { formula } from "./math.js";

const TAGS = new Set("p h1 h2 h3 h4 h5 h6 ul ol li blockquote table thead tbody tr th td strong em s a".split(" "));

/** @param {any[]} tokens @param {Node} into @param {boolean} isFinal whether nothing of it changes any more */
export function build(tokens, into, isFinal) {
  const builder = new Builder(into, isFinal);
  for (const token of tokens) builder.take(token);
}

class Builder {
  /** @type {Node[]} */
  #stack;
  #isFinal;

  /** @param {Node} into @param {boolean} isFinal */
  constructor(into, isFinal) {
    this.#stack = [into];
    this.#isFinal = isFinal;
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
    if (token.tag === "table") this.#enter(scroller(), true);
    if (token.tag === "ol" && token.attrGet("start") !== null) element.setAttribute("start", String(Number(token.attrGet("start"))));
    if (token.tag === "th" || token.tag === "td") align(element, token.attrGet("style") ?? "");
    if (token.tag === "a") this.#aim(/** @type {HTMLAnchorElement} */ (element), token.attrGet("href") ?? "");
    if (token.block) element.dir = "auto";
    this.#enter(element, true);
  }

  /** @param {any} token */
  #close(token) {
    if (token.hidden) return;
    const element = this.#stack.pop();
    if (token.tag === "table") this.#stack.pop();
    if (!(element instanceof HTMLAnchorElement) || !element.href) return;
    const host = warningFor(element.href, element.textContent ?? "");
    if (host) this.#text("span", ` (${host})`, "host");
  }

  /** @param {any} token */
  #leaf(token) {
    switch (token.type) {
      case "inline":
        for (const child of token.children) this.take(child);
        if (this.#at instanceof HTMLLIElement) markTask(this.#at);
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
        this.#text("code", token.content);
        break;
      case "fence":
      case "code_block":
        this.#at.appendChild(codeBox(token.content, token.info.trim().split(/\s+/, 1)[0], this.#isFinal));
        break;
      case "formula":
      case "formula_block":
        this.#at.appendChild(formula(token, this.#isFinal));
        break;
      case "image":
        this.#image(token);
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

  /** @param {string} tag @param {string} text @param {string} [kind] */
  #text(tag, text, kind) {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    element.textContent = text;
    this.#at.appendChild(element);
  }

  /** @param {HTMLElement} element @param {boolean} isOpen */
  #enter(element, isOpen) {
    this.#at.appendChild(element);
    if (isOpen) this.#stack.push(element);
  }
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

/** @param {HTMLLIElement} item */
function markTask(item) {
  const first = item.firstChild;
  const mark = first instanceof Text ? /^\[([ xX])\] /.exec(first.data) : null;
  if (!mark) return;
  /** @type {Text} */ (first).deleteData(0, 4);
  const box = document.createElement("span");
  box.className = mark[1] === " " ? "task" : "task done";
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", mark[1] === " " ? "not done" : "done");
  item.prepend(box);
}
