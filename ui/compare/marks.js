// Marks on the text of lanes where they differ from the first: painted over it by the browser, so that no text changes.

import { differences, firstDifference } from "../state/difference.js";

// A first difference is marked as far as it goes, but no longer than a reader takes in at once.
const MOST_WORDS = 5;
const BLOCKS = "p, li, td, th, h1, h2, h3, h4, h5, h6, pre, blockquote, .formula.display";
// What the page itself wrote, and a formula's second form.
const NOT_TEXT = "figcaption, button, .katex-mathml";
const PAUSE_MS = 150;

/** @typedef {import("../state/lane.js").Lane} Lane */
/** @typedef {{node: Text, start: number, stop: number}} Part of one text node */

export class Marks {
  /** @type {Map<Lane, HTMLElement>} */
  #places = new Map();
  /** @type {Lane[]} */
  #lanes = [];
  #observer = new MutationObserver(() => this.#soon());
  #timer = 0;
  #first = highlight("differs");
  #all = highlight("differs-too");

  // --- Lifecycle

  close() {
    this.#observer.disconnect();
    clearTimeout(this.#timer);
    this.#first?.clear();
    this.#all?.clear();
  }

  // --- Actions

  /** In their order; the first is what the others are held against. @param {Lane[]} lanes */
  use(lanes) {
    this.#lanes = lanes;
    this.#soon();
  }

  /** Where the text of that lane stands. @param {Lane} lane @param {HTMLElement} place */
  put(lane, place) {
    this.#places.set(lane, place);
    this.#observer.observe(place, { childList: true, subtree: true, characterData: true });
    this.#soon();
    return () => this.#places.delete(lane);
  }

  // --- Internal

  #soon() {
    if (!this.#timer) this.#timer = setTimeout(() => this.#draw(), PAUSE_MS);
  }

  #draw() {
    this.#timer = 0;
    this.#first?.clear();
    this.#all?.clear();
    const [first, ...others] = this.#lanes;
    const place = first && this.#places.get(first);
    if (!place) return;
    const one = new Words(place);
    for (const lane of others) this.#mark(lane, first, one);
  }

  /** @param {Lane} lane @param {Lane} first @param {Words} one */
  #mark(lane, first, one) {
    const place = this.#places.get(lane);
    if (!place) return;
    const other = new Words(place);
    const [firstTurn, turn] = [first.turn.value, lane.turn.value];
    if (!firstTurn || !turn) return;
    const word = firstDifference(one.words, other.words, isWhole(firstTurn), isWhole(turn));
    const isSame = isWhole(firstTurn) && isWhole(turn) && firstTurn.record.text === turn.record.text && firstTurn.record.reasoning === turn.record.reasoning && callsIn(firstTurn) === callsIn(turn);
    const known = lane.difference.value;
    if (known.word !== word || known.isSame !== isSame) lane.difference.value = { word, isSame };
    if (word === null) return;
    const hunks = isWhole(firstTurn) && isWhole(turn) ? differences(one.words, other.words) : [];
    const [nearest] = hunks;
    const stop = nearest ? Math.min(Math.max(nearest.stop, word + 1), word + MOST_WORDS) : word + 1;
    add(this.#first, other.range(word, stop));
    if (lane.isDiffShown.value) for (const hunk of hunks) add(this.#all, other.range(hunk === nearest ? stop : hunk.start, hunk.stop));
  }
}

/** The words of an element, each with its place in it. */
class Words {
  /** @type {string[]} */
  words = [];
  /** @type {Part[][]} */
  #parts = [];

  /** @param {HTMLElement} element */
  constructor(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    let block = null;
    let isOpen = false;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = /** @type {Text} */ (node);
      if (text.parentElement?.closest(NOT_TEXT)) continue;
      const own = text.parentElement?.closest(BLOCKS) ?? null;
      if (own !== block) isOpen = false;
      block = own;
      for (const { 0: run, index } of text.data.matchAll(/\S+|\s+/g)) {
        if (/\s/.test(run[0])) isOpen = false;
        else this.#take(run, { node: text, start: index, stop: index + run.length }, isOpen), (isOpen = true);
      }
    }
  }

  /** A range over words [start, stop); null: there are none. @param {number} start @param {number} stop */
  range(start, stop) {
    const from = this.#parts[start]?.[0];
    const to = this.#parts[Math.min(stop, this.#parts.length) - 1]?.at(-1);
    if (!from || !to || stop <= start) return null;
    const range = new Range();
    range.setStart(from.node, from.start);
    range.setEnd(to.node, to.stop);
    return range;
  }

  /** @param {string} run @param {Part} part @param {boolean} isRest whether it goes on with the word before */
  #take(run, part, isRest) {
    if (!isRest) {
      this.words.push(run);
      this.#parts.push([part]);
      return;
    }
    this.words[this.words.length - 1] += run;
    this.#parts[this.#parts.length - 1].push(part);
  }
}

/** @param {import("../state/turn.js").Turn} turn */
function isWhole(turn) {
  return turn.record.state === "DONE";
}

/** @param {import("../state/turn.js").Turn} turn */
function callsIn({ record }) {
  return JSON.stringify(record.tools.map(({ name, arguments: words }) => [name, words]));
}

/** The paint of that name; null where the browser has none: then the words below the lane say it alone. @param {string} name */
function highlight(name) {
  if (!("highlights" in CSS)) return null;
  const made = new Highlight();
  CSS.highlights.set(name, made);
  return made;
}

/** @param {Highlight | null} paint @param {Range | null} range */
function add(paint, range) {
  if (range) paint?.add(range);
}
