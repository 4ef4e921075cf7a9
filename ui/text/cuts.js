// Where a long text can be cut without reading it: a part of it shows what it shows in the whole.

import { outline } from "./markdown.js";
import { lineStarts } from "./split.js";

// What a line is, from its start on. Such a fence opens wherever it stands, but in a formula.
const EMPTY = /[ \t]*(?:\n|$)/y;
const FENCE = /`{3,}(?=[^`\n]*(?:\n|$))|~{3,}/y;
const FORMULA = / {0,3}(?:\$\$|\\\[)/y;
/** It opens or closes a fence, of a list or of its own. */
const INNER_FENCE = / {1,3}(?:`{3,}(?=[^`\n]*(?:\n|$))|~{3,})/y;
/** After an empty line only a fence takes it. */
const OUTER = /[^\s*+\-\d]/y;
const DEFINITION = /^[ \t>*+\-\d.)]*\[(?:[^[\]\\]|\\[^])+\]:/m;

/**
 * The parts of a text, each from a block's start and no longer than it must be. What cannot be cut is one of them.
 * @param {string} source whose lines end with a newline alone @param {number} minLength
 */
export function cut(source, minLength) {
  const parts = [];
  /** Where the part starts, and where a block starts, before which all is closed. */
  let [start, sure] = [0, 0];
  /** What closes the fence that is open. @type {RegExp | null} */
  let closer = null;
  /** A fence that may be one of a list: what closes it in either case, and what stands in it. @type {{closer: RegExp, within: RegExp} | null} */
  let inner = null;
  let [isAfterEmpty, isInFormula, isDoubtful] = [false, false, false];
  for (let at = 0, next = 0; at < source.length; at = next) {
    next = source.indexOf("\n", at) + 1 || source.length;
    if (is(EMPTY, source, at)) {
      isAfterEmpty = true;
      isInFormula = false;
      continue;
    }
    const isOuter = isAfterEmpty && is(OUTER, source, at);
    const isFence = !isInFormula && is(FENCE, source, at);
    isAfterEmpty = false;
    if (inner) {
      if (is(inner.within, source, at)) continue;
      isDoubtful = !is(inner.closer, source, at);
      inner = null;
      if (!isDoubtful) continue;
    }
    if (isDoubtful && (isOuter || isFence)) {
      closer = openAtEnd(source.slice(sure, at));
      isDoubtful = false;
    }
    if (closer) {
      if (is(closer, source, at)) [closer, sure] = [null, next];
      continue;
    }
    if (isOuter || isFence) sure = at;
    if (isOuter && at - start >= minLength) {
      parts.push(source.slice(start, at));
      start = at;
    }
    if (isFence) closer = closerOf(source.slice(at, FENCE.lastIndex));
    isInFormula ||= is(FORMULA, source, at);
    if (isInFormula) isDoubtful ||= is(FENCE, source, at) || is(INNER_FENCE, source, at);
    else if (!isDoubtful && is(INNER_FENCE, source, at)) inner = innerOf(source.slice(at, INNER_FENCE.lastIndex));
  }
  return [...parts, source.slice(start)];
}

/** Whether links may be defined there. @param {string} source */
export function mayDefine(source) {
  return source.includes("]:") && DEFINITION.test(source);
}

// --- Internal

/** @param {RegExp} kind @param {string} source @param {number} at */
function is(kind, source, at) {
  kind.lastIndex = at;
  return kind.test(source);
}

/** @param {string} mark what opened it @param {string} [indent] what stands before it */
function closerOf(mark, indent = " {0,3}") {
  return new RegExp(`${indent}${mark}${mark[0]}*[ \\t]*(?:\\n|$)`, "y");
}

/** @param {string} opener */
function innerOf(opener) {
  const mark = opener.trim();
  const indent = opener.slice(0, -mark.length);
  return { closer: closerOf(mark, indent), within: new RegExp(`${indent}(?! *(?:\`\`\`|~~~))`, "y") };
}

/** What closes the fence that is open at the end of whole lines; null: none is. @param {string} source */
function openAtEnd(source) {
  const last = outline(source, { references: {} }).at(-1);
  if (last?.type !== "fence") return null;
  const closer = closerOf(last.markup);
  const [first, end] = last.map;
  const isClosed = end - first > 1 && is(closer, source, lineStarts(source)[end - 1]);
  return isClosed ? null : closer;
}
