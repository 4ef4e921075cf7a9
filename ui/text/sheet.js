// The text of one answer on the page: closed blocks in sheets that the browser may skip, and one open block.

import { build } from "./build.js";
import { codeBox } from "./code.js";
import { parser } from "./markdown.js";
import { patchChildren } from "./patch.js";
import { openFence, split } from "./split.js";

const SHEET_LENGTH = 6000;
// A line of 15 px at 1.62 holds some 90 characters; a first guess that the browser replaces by what it has measured.
const PX_PER_CHARACTER = 0.27;

/** @typedef {{text: Text, closer: RegExp, line: string}} OpenFence */

export class AnswerText {
  element = document.createElement("div");
  #env = { references: {} };
  #taken = 0;
  #open = "";
  #openBox = document.createElement("div");
  #sheet = newSheet();
  #sheetLength = 0;
  /** @type {OpenFence | null} */
  #fence = null;

  // --- Lifecycle

  constructor() {
    // Not "text": the library of formulas has a class of that name.
    this.element.className = "prose";
    this.#openBox.className = "open";
    this.element.append(this.#sheet, this.#openBox);
  }

  // --- Actions

  /** Shows the whole text so far, of which only the end is new. @param {string} text */
  show(text) {
    const news = text.slice(this.#taken);
    if (!news) return;
    this.#taken = text.length;
    this.#open += news;
    if (this.#fence && this.#growFence(news)) return;
    this.#fence = null;
    const { closed, open } = split(this.#open, this.#env);
    if (closed) this.#close(closed);
    this.#open = open;
    this.#drawOpen();
  }

  /** Nothing more comes. */
  end() {
    if (this.#open) this.#close(this.#open);
    this.#open = "";
    this.#fence = null;
    this.#openBox.replaceChildren();
  }

  // --- Internal

  /** @param {string} closed */
  #close(closed) {
    build(parser.parse(closed, this.#env), this.#sheet, true);
    this.#sheetLength += closed.length;
    if (this.#sheetLength < SHEET_LENGTH) return;
    this.#sheet.classList.add("closed");
    this.#sheet.style.containIntrinsicBlockSize = `auto ${Math.round(this.#sheetLength * PX_PER_CHARACTER)}px`;
    this.#sheet = newSheet();
    this.#sheetLength = 0;
    this.#openBox.before(this.#sheet);
  }

  #drawOpen() {
    const fence = openFence(this.#open);
    if (fence) {
      const box = codeBox(this.#open.slice(fence.start), fence.info.trim().split(/\s+/, 1)[0], false);
      this.#openBox.replaceChildren(box);
      const text = /** @type {Text} */ (box.querySelector("code")?.firstChild);
      this.#fence = { text, closer: fence.closer, line: this.#open.slice(this.#open.lastIndexOf("\n") + 1) };
      return;
    }
    const wanted = document.createDocumentFragment();
    build(parser.parse(this.#open, { references: { ...this.#env.references } }), wanted, false);
    patchChildren(this.#openBox, wanted);
  }

  /** Returns whether the fence is still open, and then has the news. @param {string} news */
  #growFence(news) {
    const fence = /** @type {OpenFence} */ (this.#fence);
    const lines = (fence.line + news).split("\n");
    if (lines.some((line) => fence.closer.test(line))) return false;
    fence.line = lines[lines.length - 1];
    fence.text.appendData(news);
    return true;
  }
}

function newSheet() {
  const sheet = document.createElement("div");
  sheet.className = "sheet";
  return sheet;
}
