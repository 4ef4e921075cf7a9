// The text of one answer on the page: closed blocks on sheets, and one open block at the end of the last one, where it
// stays when it closes.

import { build, finish } from "./build.js";
import { cut, mayDefine } from "./cuts.js";
import { heightOf, roughHeightOf } from "./estimate.js";
import { OpenFence } from "./fence.js";
import { OpenItems, hasItems } from "./items.js";
import { outline, read, scratch } from "./markdown.js";
import { SHEET_LENGTH, Sheets, unread } from "./sheets.js";
import { byBlock, lineStarts, openFence, split } from "./split.js";

/** No prose has a paragraph that long: until it closes, its words are shown as they come and not read anew each time. */
const MAX_READ_LENGTH = 32_000;
/** What comes longer at once is not all drawn at once. */
const MAX_DRAWN_LENGTH = 2 * SHEET_LENGTH;

export class AnswerText {
  #env = { references: {} };
  /** All of it, and how much of what was given that is: there, a line may end otherwise. */
  #whole = "";
  #taken = 0;
  #open = "";
  #sheets = new Sheets();
  /** @type {OpenFence | null} */
  #fence = null;
  /** @type {OpenItems | null} */
  #items = null;
  /** Whether one parse of the whole may show something otherwise, such as a link that was defined after it. */
  #isDoubtful = false;
  /** Whether any of it is more than the definition of a link, which shows nothing. */
  #hasBlocks = false;

  // --- Actions

  get element() {
    return this.#sheets.element;
  }

  /** Shows a text that is whole, from its end upward. @param {string} text */
  open(text) {
    this.#whole = this.#take(text);
    if (this.#whole) this.#wait(cut(this.#whole, SHEET_LENGTH));
    this.#sheets.last.remove();
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
    if (this.#open.length > MAX_DRAWN_LENGTH) this.#drawFirst();
    const { closed, open, blocks } = split(this.#open, this.#env);
    if (closed) this.#close(closed);
    this.#open = open;
    this.#drawOpen(blocks ?? outline(open, scratch(this.#env)));
  }

  /** Nothing more comes. */
  end() {
    if (this.#open) this.#close(this.#open);
    this.#open = "";
    this.#fence = null;
    if (this.#isDoubtful) this.#sheets.redraw(this.#built(outline(this.#whole, (this.#env = { references: {} }))));
    this.#isDoubtful = false;
    this.#showDefinitions();
  }

  // --- Internal

  /** An answer of definitions alone is shown as it was written: else it would look empty. */
  #showDefinitions() {
    if (this.#hasBlocks || !this.#whole.trim()) return;
    this.#hasBlocks = true;
    this.#sheets.last.replaceChildren(unread(this.#whole));
    this.element.append(this.#sheets.last);
  }

  /** Returns what is new of it, each line ended by a newline alone. @param {string} text */
  #take(text) {
    const wasReturn = text[this.#taken - 1] === "\r";
    const news = text.slice(this.#taken);
    this.#taken = text.length;
    return (wasReturn && news[0] === "\n" ? news.slice(1) : news).replace(/\r\n?/g, "\n");
  }

  /** Much came at once: what of it goes on with what is seen is drawn, the rest waits; the last part stays open. */
  #drawFirst() {
    const parts = cut(this.#open, SHEET_LENGTH);
    this.#open = parts.pop() ?? "";
    if (parts.length && this.#sheets.isSeen) this.#close(/** @type {string} */ (parts.shift()));
    this.#wait(parts);
  }

  /** Closed text that is read and drawn when it is its turn. @param {string[]} parts */
  #wait(parts) {
    // What they define is known before the first of them is drawn.
    for (const source of parts) {
      const tokens = mayDefine(source) ? this.#define(source) : null;
      this.#hasBlocks ||= tokens?.some(isBlock) ?? source.trim() !== "";
    }
    for (const source of parts) {
      this.#sheets.wait(roughHeightOf(source, this.#sheets.width), () => this.#built(outline(source, this.#env)));
    }
  }

  /** Draws closed text, of which nothing changes any more. @param {string} closed */
  #close(closed) {
    let blocks = byBlock(this.#define(closed));
    const items = this.#items;
    this.#items = null;
    if (items && !(hasItems(blocks[0]) && this.#drawnBy(items, blocks[0], closed))) {
      closed = items.frozen + closed;
      blocks = byBlock(outline(closed, this.#env));
    } else if (items?.node) {
      this.#isDoubtful ||= items.isDoubtful;
      finish(items.node);
      this.#sheets.numClosed += 1;
      this.#count(blocks[0], items.frozen + closed);
      blocks = blocks.slice(1);
      if (this.#sheets.isFull) this.#sheets.next();
    }
    const lines = lineStarts(closed);
    /** @type {any[]} */
    let tokens = [];
    for (const block of blocks) {
      tokens.push(...block);
      this.#count(block, closed.slice(lines[block[0].map[0]], lines[block[0].map[1]]));
      if (!this.#sheets.isFull) continue;
      this.#sheets.draw(this.#built(tokens));
      this.#sheets.next();
      tokens = [];
    }
    if (tokens.length) this.#sheets.draw(this.#built(tokens));
  }

  /** @param {any[]} blocks closed ones */
  #built(blocks) {
    return build(read(blocks, this.#env));
  }

  /** @param {any[]} block @param {string} source */
  #count(block, source) {
    this.#hasBlocks ||= isBlock(block[0]);
    this.#sheets.count(source.length, heightOf(block, source, this.#sheets.width));
  }

  /** Reads definitions that stay. Returns the blocks. @param {string} source */
  #define(source) {
    const { references } = this.#env;
    const numBefore = source.includes("]:") ? Object.keys(references).length : 0;
    const blocks = outline(source, this.#env);
    if (source.includes("]:") && Object.keys(references).length > numBefore) {
      // What is shown already may use what is defined only now.
      this.#isDoubtful ||= !this.#sheets.isEmpty;
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
    this.#sheets.drawOpen(isTooLong ? unread(this.#open) : build(read(rest, scratch(this.#env))), isList ? 1 : 0);
    const figure = this.#sheets.last.childNodes[this.#sheets.numClosed];
    if (fence && figure instanceof Element) this.#fence = new OpenFence(figure, fence.isClosing, this.#open.slice(fence.start));
  }

  /** Returns false where all of the list has to be drawn once more. @param {any[]} block */
  #drawItems(block) {
    const source = this.#open.slice(lineStarts(this.#open)[block[0].map[0]]);
    const items = (this.#items ??= new OpenItems());
    if (!this.#drawnBy(items, block, source)) {
      this.#open = items.frozen + source;
      this.#items = null;
      return false;
    }
    this.#open = items.freeze(block, source, (closed) => this.#define(closed));
    return true;
  }

  /** @param {OpenItems} items @param {any[]} block @param {string} source */
  #drawnBy(items, block, source) {
    return items.draw(block, source, this.#env, this.#sheets.last, this.#sheets.numClosed);
  }
}

/** Whether it shows anything: the definition of a link does not. @param {any} token that opens a block */
const isBlock = (token) => token.type !== "reference_definition";
