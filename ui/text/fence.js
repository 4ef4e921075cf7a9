// Code that still grows: its text is appended, and nothing is parsed until the line that closes it.

import { boxOf } from "./code.js";

const MARKS = /^ {0,3}(`+|~+)$/;

export class OpenFence {
  #box;
  #isClosing;
  /** The last line so far, and what of it may be the beginning of the closing line and is not shown yet. */
  #line = "";
  #held = "";

  // --- Lifecycle

  /** @param {Element} figure where it is shown @param {(line: string) => boolean} isClosing @param {string} content what it has so far */
  constructor(figure, isClosing, content) {
    this.#box = boxOf(figure);
    this.#isClosing = isClosing;
    this.#line = content.slice(content.lastIndexOf("\n") + 1);
  }

  // --- Actions

  /** Returns false where the fence closes; then nothing is shown of the news. @param {string} news */
  grow(news) {
    const text = this.#line + news;
    if (text.split("\n").some((line) => this.#isClosing(line))) return false;
    this.#line = text.slice(text.lastIndexOf("\n") + 1);
    const all = this.#held + news;
    this.#held = MARKS.test(this.#line) ? all.slice(-Math.min(all.length, this.#line.length)) : "";
    this.#box?.append(all.slice(0, all.length - this.#held.length));
    return true;
  }
}
