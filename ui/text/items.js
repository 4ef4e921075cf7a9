// A list or a table that still grows: only items that changed are built, and of a long one only the last is parsed.

import { build, finish } from "./build.js";
import { read, scratch } from "./markdown.js";
import { patch } from "./patch.js";
import { lineStarts } from "./split.js";

const MAX_PARSED_LENGTH = 4000;
// Where the parser gives up on a table, counted over all of it.
const MAX_CELLS = 65_536;
const OPENERS = new Set(["bullet_list_open", "ordered_list_open", "table_open"]);

/** @typedef {{source: string, node: Node}} Kept */
/** @typedef {{tokens: any[], source: string}} Item */

/** Whether a block has items. @param {any[]} block */
export function hasItems(block) {
  return OPENERS.has(block[0].type);
}

export class OpenItems {
  /** What stands in the text: the list, or the box around the table. @type {Node | null} */
  node = null;
  /** Source of a list that is parsed no more. */
  frozen = "";
  /** Whether one parse of the whole may read it otherwise. */
  isDoubtful = false;
  /** @type {Kept[]} */
  #kept = [];
  #numFrozen = 0;
  #head = "";
  #isLoose = false;

  // --- Actions

  /**
   * Brings it to its source. Returns false where it cannot: items that are parsed no more turn out to be otherwise, and
   * all of it has to be drawn once more, by another one of these.
   * @param {any[]} block its tokens, unread @param {string} source from its first line on @param {any} env
   * @param {Node} parent @param {number} index where it stands in it
   */
  draw(block, source, env, parent, index) {
    const items = itemsOf(block, source);
    const isLoose = items.some(({ tokens }) => tokens.some((token) => isOwnParagraph(token) && !token.hidden));
    const hasTurnedLoose = isLoose && !this.#isLoose;
    if (this.#numFrozen && hasTurnedLoose) return false;
    if (this.#numFrozen && this.#isLoose) loosen(items);
    this.#isLoose ||= isLoose;
    // The number that a list starts with is that of its first item, which may be parsed no more.
    const isTable = block[0].type === "table_open";
    const head = `${block[0].type} ${items.length > 0} ${isTable ? source.slice(0, lineStarts(source)[2]) : ""}`;
    if (!this.node || hasTurnedLoose || head !== this.#head) {
      if (this.#numFrozen) return false;
      this.#drawWhole(block, env, parent, index);
      this.#kept = items.map(({ source: own }, at) => ({ source: own, node: this.#list.childNodes[at] }));
    } else this.#drawChanged(items, env);
    this.#head = head;
    return true;
  }

  /**
   * Takes items out of the source of which nothing changes any more, where it is long. Returns what is left of it.
   * @param {any[]} block @param {string} source @param {(source: string) => void} define keeps the definitions in it
   */
  freeze(block, source, define) {
    const last = this.#kept[this.#kept.length - 1];
    // An item is sure to be one only once its first line is whole.
    if (source.length < MAX_PARSED_LENGTH || this.#kept.length < 2 || !last.source.includes("\n")) return source;
    const lines = lineStarts(source);
    const starts = startsOf(block).map((line) => lines[line]);
    const [start, stop] = [starts[0], starts[starts.length - 1]];
    const done = this.#kept.splice(0, this.#kept.length - 1);
    this.#numFrozen += done.length;
    for (const { node } of done) finish(node);
    if (block[0].type === "table_open") {
      const numColumns = done[0].node.childNodes.length;
      this.isDoubtful ||= this.#numFrozen * numColumns > MAX_CELLS;
      return source.slice(0, start) + source.slice(stop);
    }
    define(source.slice(start, stop));
    this.frozen += source.slice(start, stop);
    // An empty line between two items makes a list loose, also one whose items have no paragraph yet.
    this.#isLoose ||= done.some(({ source: own }) => /\n[ \t]*\n$/.test(own));
    return source.slice(stop);
  }

  /** What items show may change though their source does not: a link was defined. */
  forget() {
    this.#kept = this.#kept.map(({ node }) => ({ source: "", node }));
  }

  // --- Internal

  get #list() {
    const node = /** @type {Element} */ (this.node);
    return node.querySelector("tbody") ?? node;
  }

  /** @param {any[]} block @param {any} env @param {Node} parent @param {number} index */
  #drawWhole(block, env, parent, index) {
    const wanted = /** @type {Node} */ (build(read(block, scratch(env))).firstChild);
    const shown = parent.childNodes[index] ?? null;
    this.node = shown && patch(shown, wanted) ? shown : wanted;
    if (shown && this.node !== shown) parent.replaceChild(wanted, shown);
    else if (!shown) parent.appendChild(wanted);
  }

  /** @param {Item[]} items @param {any} env */
  #drawChanged(items, env) {
    const list = this.#list;
    this.#kept.slice(items.length).forEach(({ node }) => list.removeChild(node));
    this.#kept = items.map(({ tokens, source }, index) => {
      const known = this.#kept[index];
      if (known?.source === source) return known;
      const wanted = /** @type {Node} */ (build(read(tokens, scratch(env))).firstChild);
      if (known && patch(known.node, wanted)) return { source, node: known.node };
      if (known) list.replaceChild(wanted, known.node);
      else list.appendChild(wanted);
      return { source, node: wanted };
    });
  }
}

/** The lines that items start on. @param {any[]} block */
function startsOf(block) {
  const isTable = block[0].type === "table_open";
  const isItem = (/** @type {any} */ token) => (isTable ? token.type === "tr_open" && token.map[0] > 1 : token.type === "list_item_open" && token.level === 1);
  return block.filter(isItem).map((token) => token.map[0] - block[0].map[0]);
}

/** @param {any[]} block @param {string} source @returns {Item[]} */
function itemsOf(block, source) {
  const lines = lineStarts(source);
  const starts = startsOf(block);
  const stopLine = block[0].map[1] - block[0].map[0];
  const isTable = block[0].type === "table_open";
  const level = isTable ? 2 : 1;
  /** @type {any[][]} */
  const groups = [];
  let isBody = !isTable;
  for (const token of block) {
    if (token.type === "tbody_open") isBody = true;
    else if (token.type === "tbody_close") isBody = false;
    else if (isBody && token.level >= level) {
      if (token.level === level && token.nesting === 1) groups.push([]);
      groups[groups.length - 1].push(token);
    }
  }
  const ends = [...starts.slice(1), stopLine];
  return groups.map((tokens, index) => ({ tokens, source: source.slice(lines[starts[index]], lines[ends[index]]) }));
}

/** @param {any} token */
function isOwnParagraph(token) {
  return token.level === 2 && (token.type === "paragraph_open" || token.type === "paragraph_close");
}

/** @param {Item[]} items */
function loosen(items) {
  for (const { tokens } of items) for (const token of tokens) if (isOwnParagraph(token)) token.hidden = false;
}
