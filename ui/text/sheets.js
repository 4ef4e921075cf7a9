// The sheets that a text stands on, one below the other: the browser may skip all but the last, where the text grows.

import { finish } from "./build.js";
import { close, closeUnseen, measureLater, watchWidth, widthOf } from "./measure.js";
import { buildFromEnd } from "./opening.js";
import { patchChildren } from "./patch.js";

export const SHEET_LENGTH = 6000;

export class Sheets {
  element = document.createElement("div");
  /** The last one. */
  last = document.createElement("div");
  /** Nodes of it of which nothing changes any more. */
  numClosed = 0;
  /** What stands on it: how long its source is, and how high it is about. */
  #length = 0;
  #px = 0;
  /** What still draws the sheets that wait for their turn. @type {Set<() => void>} */
  #undrawn = new Set();

  // --- Lifecycle

  constructor() {
    // Not "text": the library of formulas has a class of that name.
    this.element.className = "prose";
    this.next();
    watchWidth(this.element);
  }

  // --- Actions

  get width() {
    return widthOf(this.element);
  }

  get isEmpty() {
    return !this.last.firstChild && this.element.childNodes.length < 2;
  }

  get isFull() {
    return this.#length >= SHEET_LENGTH;
  }

  /** Whether the open part is on the screen already. */
  get isSeen() {
    return this.last.childNodes.length > this.numClosed;
  }

  /** More comes onto the last one. @param {number} length of its source @param {number} heightPx about */
  count(length, heightPx) {
    this.#length += length;
    this.#px += heightPx;
  }

  /** Closes the last one and goes on with another. */
  next() {
    // What of the open part stands there is drawn in the new one.
    this.drawOpen(document.createDocumentFragment());
    if (this.last.firstChild) closeUnseen(this.last);
    else if (this.last.parentNode) close(this.last, this.#px);
    this.last = document.createElement("div");
    this.last.className = "sheet";
    this.element.append(this.last);
    this.numClosed = this.#length = this.#px = 0;
  }

  /** Brings what stands after the closed part to what it should be. @param {DocumentFragment} open @param {number} [numDrawn] nodes of it that are that already */
  drawOpen(open, numDrawn = 0) {
    patchChildren(this.last, open, this.numClosed + numDrawn);
  }

  /** The same, and nothing of it changes any more. @param {DocumentFragment} closed */
  draw(closed) {
    this.drawOpen(closed);
    this.#finish(this.last, this.numClosed);
    this.numClosed = this.last.childNodes.length;
  }

  /** Closed blocks get a sheet of their own, and are made when it is their turn. @param {number} heightPx about @param {() => DocumentFragment} make */
  wait(heightPx, make) {
    if (this.last.firstChild) this.next();
    const sheet = this.last;
    const draw = () => {
      if (!this.#undrawn.delete(draw)) return;
      sheet.append(make());
      this.#finish(sheet, 0);
    };
    this.#undrawn.add(draw);
    buildFromEnd({ place: sheet, heightPx, build: draw });
    this.#px = heightPx;
    this.next();
  }

  /** Brings all that is shown to what it should be. @param {DocumentFragment} wanted */
  redraw(wanted) {
    for (const draw of this.#undrawn) draw();
    const sheets = [...this.element.children];
    for (const [index, sheet] of sheets.entries()) {
      const part = document.createDocumentFragment();
      const count = index + 1 < sheets.length ? sheet.childNodes.length : wanted.childNodes.length;
      for (let at = 0; at < count && wanted.firstChild; at += 1) part.append(wanted.firstChild);
      patchChildren(sheet, part);
      for (const node of sheet.childNodes) finish(node);
    }
  }

  // --- Internal

  /** @param {HTMLElement} sheet @param {number} first */
  #finish(sheet, first) {
    for (const node of [...sheet.childNodes].slice(first)) finish(node);
    measureLater(sheet);
  }
}

/** What nobody reads, as it was written. @param {string} text */
export function unread(text) {
  const paragraph = document.createElement("p");
  paragraph.textContent = text;
  const into = document.createDocumentFragment();
  into.append(paragraph);
  return into;
}
