// The text of one answer on the page: closed blocks in sheets that the browser may skip, and one open block at the end
// of the last sheet, where it stays when it closes.

import { build, finish } from "./build.js";
import { heightOf } from "./estimate.js";
import { OpenFence } from "./fence.js";
import { OpenItems, hasItems } from "./items.js";
import { outline, read, scratch } from "./markdown.js";
import { close, closeUnseen, measureLater, watchWidth, widthOf } from "./measure.js";
import { buildFromEnd } from "./opening.js";
import { patchChildren } from "./patch.js";
import { byBlock, lineStarts, openFence, split } from "./split.js";

const SHEET_LENGTH = 6000;
/** No prose has a paragraph that long: until it closes, its words are shown as they come and not read anew each time. */
const MAX_READ_LENGTH = 32_000;

export class AnswerText {
  element = document.createElement("div");
  #env = { references: {} };
  /** All of it, and how much of what was given that is: there, a line may end otherwise. */
  #whole = "";
  #taken = 0;
  #open = "";
  #sheet = document.createElement("div");
  #sheetLength = 0;
  #sheetPx = 0;
  /** Nodes of the sheet of which nothing changes any more. */
  #numClosed = 0;
  /** @type {OpenFence | null} */
  #fence = null;
  /** @type {OpenItems | null} */
  #items = null;
  /** What still draws the sheets that wait for their turn. @type {Set<() => void>} */
  #undrawn = new Set();
  /** Whether one parse of the whole may show something otherwise, such as a link that was defined after it. */
  #isDoubtful = false;
  /** Whether any of it is more than the definition of a link, which shows nothing. */
  #hasBlocks = false;

  // --- Lifecycle

  constructor() {
    // Not "text": the library of formulas has a class of that name.
    this.element.className = "prose";
    this.#takeSheet();
    watchWidth(this.element);
  }

  // --- Actions

  /** Shows a text that is whole, from its end upward. @param {string} text */
  open(text) {
    this.#whole = this.#take(text);
    if (this.#whole) this.#close(this.#whole, true);
    this.#sheet.remove();
    this.#showDefinitions();
  }

  /** Shows the whole text so far, of which only the end is new. @param {string} text */
  show(text) {
    const news = this.#take(text);
    if (!news) return;
    this.#whole += news;
    this.#open += news;
    if (this.#fence?.grow(news)) return;
    this.#fence = null;
    const { closed, open, blocks } = split(this.#open, this.#env);
    if (closed) this.#close(closed, false);
    this.#open = open;
    this.#drawOpen(blocks ?? outline(open, scratch(this.#env)));
  }

  /** Nothing more comes. */
  end() {
    if (this.#open) this.#close(this.#open, false);
    this.#open = "";
    this.#fence = null;
    if (this.#isDoubtful) this.#drawAgain();
    this.#isDoubtful = false;
    this.#showDefinitions();
  }

  // --- Internal

  /** An answer of definitions alone is shown as it was written: else it would look empty. */
  #showDefinitions() {
    if (this.#hasBlocks || !this.#whole.trim()) return;
    this.#hasBlocks = true;
    this.#sheet.replaceChildren(unread(this.#whole));
    this.element.append(this.#sheet);
  }

  /** Returns what is new of it, each line ended by a newline alone. @param {string} text */
  #take(text) {
    const wasReturn = text[this.#taken - 1] === "\r";
    const news = text.slice(this.#taken);
    this.#taken = text.length;
    return (wasReturn && news[0] === "\n" ? news.slice(1) : news).replace(/\r\n?/g, "\n");
  }

  /** Draws closed text, of which nothing changes any more. @param {string} closed @param {boolean} isWhole nothing follows */
  #close(closed, isWhole) {
    let blocks = byBlock(this.#define(closed));
    const items = this.#items;
    this.#items = null;
    if (items && !(hasItems(blocks[0]) && items.draw(blocks[0], closed, this.#env, this.#sheet, this.#numClosed))) {
      closed = items.frozen + closed;
      blocks = byBlock(outline(closed, this.#env));
    } else if (items?.node) {
      this.#isDoubtful ||= items.isDoubtful;
      finish(items.node);
      this.#numClosed += 1;
      this.#count(blocks[0], items.frozen + closed);
      blocks = blocks.slice(1);
      if (this.#isFull) this.#takeSheet();
    }
    const lines = lineStarts(closed);
    // What is seen already stays where it is.
    const isSeen = this.#sheet.childNodes.length > this.#numClosed;
    const canWait = isWhole || (closed.length > 2 * SHEET_LENGTH && !isSeen);
    /** @type {any[]} */
    let tokens = [];
    for (const block of blocks) {
      tokens.push(...block);
      this.#count(block, closed.slice(lines[block[0].map[0]], lines[block[0].map[1]]));
      if (!this.#isFull) continue;
      this.#fill(tokens, canWait);
      this.#takeSheet();
      tokens = [];
    }
    if (tokens.length) this.#fill(tokens, isWhole);
    if (tokens.length && isWhole) this.#takeSheet();
  }

  get #isFull() {
    return this.#sheetLength >= SHEET_LENGTH;
  }

  /** @param {any[]} block @param {string} source */
  #count(block, source) {
    this.#hasBlocks ||= block[0].type !== "reference_definition";
    this.#sheetLength += source.length;
    this.#sheetPx += heightOf(block, source, widthOf(this.element));
  }

  /** Closes the sheet and goes on in a new one. */
  #takeSheet() {
    // What of the open part stands there is drawn in the new one.
    patchChildren(this.#sheet, document.createDocumentFragment(), this.#numClosed);
    if (this.#sheet.firstChild) closeUnseen(this.#sheet);
    else if (this.#sheet.parentNode) close(this.#sheet, this.#sheetPx);
    this.#sheet = document.createElement("div");
    this.#sheet.className = "sheet";
    this.element.append(this.#sheet);
    this.#sheetLength = 0;
    this.#sheetPx = 0;
    this.#numClosed = 0;
  }

  /** Puts blocks into the sheet, now or when it is their turn. @param {any[]} tokens @param {boolean} canWait */
  #fill(tokens, canWait) {
    const sheet = this.#sheet;
    const first = this.#numClosed;
    const draw = () => {
      if (!this.#undrawn.delete(draw)) return;
      patchChildren(sheet, build(read(tokens, this.#env)), first);
      for (const node of [...sheet.childNodes].slice(first)) finish(node);
      measureLater(sheet);
    };
    this.#undrawn.add(draw);
    if (canWait) {
      buildFromEnd({ place: sheet, heightPx: this.#sheetPx, build: draw });
    } else draw();
    this.#numClosed = sheet.childNodes.length;
  }

  /** Reads definitions that stay. Returns the blocks. @param {string} source */
  #define(source) {
    const { references } = this.#env;
    const numBefore = source.includes("]:") ? Object.keys(references).length : 0;
    const blocks = outline(source, this.#env);
    if (source.includes("]:") && Object.keys(references).length > numBefore) {
      // What is shown already may use what is defined only now.
      this.#isDoubtful ||= this.#sheet.firstChild !== null || this.element.childNodes.length > 1;
      this.#items?.forget();
    }
    return blocks;
  }

  /** @param {any[]} blocks @returns {void} */
  #drawOpen(blocks) {
    const groups = byBlock(blocks);
    const isList = groups.length > 0 && hasItems(groups[0]);
    if (!isList) this.#items = null;
    else if (!this.#drawItems(groups[0])) return this.#drawOpen(outline(this.#open, scratch(this.#env)));
    const rest = isList ? groups.slice(1).flat() : blocks;
    const fence = openFence(this.#open, blocks);
    const isTooLong = blocks[0]?.type === "paragraph_open" && this.#open.length > MAX_READ_LENGTH;
    const wanted = isTooLong ? unread(this.#open) : build(read(rest, scratch(this.#env)));
    patchChildren(this.#sheet, wanted, this.#numClosed + (isList ? 1 : 0));
    const figure = this.#sheet.childNodes[this.#numClosed];
    if (fence && figure instanceof Element) this.#fence = new OpenFence(figure, fence.isClosing, this.#open.slice(fence.start));
  }

  /** Returns false where all of the list has to be drawn once more. @param {any[]} block */
  #drawItems(block) {
    const source = this.#open.slice(lineStarts(this.#open)[block[0].map[0]]);
    const items = (this.#items ??= new OpenItems());
    if (!items.draw(block, source, this.#env, this.#sheet, this.#numClosed)) {
      this.#open = items.frozen + source;
      this.#items = null;
      return false;
    }
    this.#open = items.freeze(block, source, (closed) => this.#define(closed));
    return true;
  }

  /** Reads all of it at once and brings what is shown to that. */
  #drawAgain() {
    for (const draw of this.#undrawn) draw();
    const env = { references: {} };
    const nodes = build(read(outline(this.#whole, env), env));
    const sheets = [...this.element.children];
    for (const [index, sheet] of sheets.entries()) {
      const part = document.createDocumentFragment();
      const count = index + 1 < sheets.length ? sheet.childNodes.length : nodes.childNodes.length;
      for (let at = 0; at < count && nodes.firstChild; at += 1) part.append(nodes.firstChild);
      patchChildren(sheet, part);
      for (const node of sheet.childNodes) finish(node);
    }
  }
}

/** @param {string} text */
function unread(text) {
  const paragraph = document.createElement("p");
  paragraph.textContent = text;
  const into = document.createDocumentFragment();
  into.append(paragraph);
  return into;
}
