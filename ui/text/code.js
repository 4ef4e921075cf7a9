// A block of code: its language, its copy button, its text as it grows, and its colours.

import { copyButton } from "../parts/copy.js";
import { isSmall, languageOf, load, painter } from "./highlight.js";
import { later } from "./idle.js";
import { appendMarked } from "./marks.js";
import { patchBy, patchChildren } from "./patch.js";
import { keepingSelection } from "./selection.js";

const COLOUR_PAUSE_MS = 200;
const MAX_OPEN_LENGTH = 8000;

/** @type {WeakMap<Element, CodeBox>} */
const boxes = new WeakMap();

patchBy("code", (shown, wanted) => {
  const [own, other] = [boxOf(shown), boxOf(wanted)];
  if (!own || !other || own.info !== other.info) return false;
  own.set(other.source);
  return true;
});

/** The box that stands there. @param {Element} element */
export function boxOf(element) {
  return boxes.get(element);
}

export class CodeBox {
  element = document.createElement("figure");
  info;
  source = "";
  #code = document.createElement("code");
  #isFinal = false;
  /** @type {ReturnType<typeof painter> | null} */
  #painter = null;
  #paintedAt = 0;

  // --- Lifecycle

  /** @param {string} info the language as the model named it @param {string} source */
  constructor(info, source) {
    this.info = info;
    const head = document.createElement("figcaption");
    const name = document.createElement("span");
    name.textContent = info.slice(0, 40) || "code";
    head.append(name, copyButton(() => this.source, "Copy code"));
    const frame = document.createElement("pre");
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", `Code, ${name.textContent}`);
    frame.dir = "ltr";
    frame.append(this.#code);
    this.element.className = "code";
    this.element.append(head, frame);
    boxes.set(this.element, this);
    this.append(source);
  }

  // --- Actions

  /** @param {string} text */
  append(text) {
    if (!text) return;
    this.source += text;
    appendMarked(this.#code, text);
    this.#colourWhileOpen();
  }

  /** Becomes that text; what it has already is not touched. @param {string} source */
  set(source) {
    if (source.startsWith(this.source)) return this.append(source.slice(this.source.length));
    this.source = source;
    const plain = document.createDocumentFragment();
    appendMarked(plain, source);
    patchChildren(this.#code, plain);
  }

  /** Nothing of it changes any more: it gets all its colours, when there is time. */
  finish() {
    if (this.#isFinal) return;
    this.#isFinal = true;
    const language = languageOf(this.info);
    if (!language || !isSmall(this.source)) return;
    // All that wait for the language have it at once, and are coloured one after the other.
    later(async () => {
      await load(language);
      later(() => this.#colour());
    });
  }

  // --- Internal

  #colourWhileOpen() {
    if (this.#isFinal || this.source.length > MAX_OPEN_LENGTH || !this.element.isConnected) return;
    const now = performance.now();
    if (!languageOf(this.info) || now - this.#paintedAt < COLOUR_PAUSE_MS) return;
    this.#paintedAt = now;
    if (isSmall(this.source)) this.#colour();
  }

  /** Colours whole lines, or everything once it is final: then it is tried anew, by more of it than there was. */
  async #colour() {
    this.#painter = this.#isFinal || !this.#painter ? painter(/** @type {string} */ (languageOf(this.info)), this.source) : this.#painter;
    const paint = await this.#painter;
    if (!paint) return;
    const length = this.#isFinal ? this.source.length : this.source.lastIndexOf("\n") + 1;
    const coloured = paint(this.source.slice(0, length));
    appendMarked(coloured, this.source.slice(length));
    keepingSelection(this.#code, () => patchChildren(this.#code, coloured));
  }
}
