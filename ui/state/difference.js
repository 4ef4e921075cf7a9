// Where one text differs from another, in words.

// Beyond so many edits the rest is one difference: the work grows with their square, and nobody reads 300 marks.
const MAX_EDITS = 300;

/** @typedef {{oneStart: number, oneStop: number, start: number, stop: number}} Hunk words [oneStart, oneStop) of the one are
 *   [start, stop) of the other; either may be empty */

/** @param {string} text */
export function wordsOf(text) {
  return text.match(/\S+/g) ?? [];
}

/**
 * Index of the first word in which they differ; null: in none so far. A text that is still written can differ only
 * in words that it has, and its last one may not be whole yet.
 * @param {string[]} one @param {string[]} other @param {boolean} isOneWhole @param {boolean} isOtherWhole
 */
export function firstDifference(one, other, isOneWhole, isOtherWhole) {
  const numOne = isOneWhole ? one.length : one.length - 1;
  const numOther = isOtherWhole ? other.length : other.length - 1;
  const both = Math.min(numOne, numOther);
  for (let at = 0; at < both; at++) if (one[at] !== other[at]) return at;
  // One ends where the other goes on.
  const isShort = isOneWhole && both === one.length && other.length > both;
  const isLong = isOtherWhole && both === other.length && one.length > both;
  return isShort || isLong ? both : null;
}

/**
 * What has to change to make the other of the one, in order. Myers, An O(ND) Difference Algorithm (1986), figure 2.
 * @param {string[]} one @param {string[]} other
 * @returns {Hunk[]}
 */
export function differences(one, other) {
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  let numSame = 0;
  const most = Math.min(one.length, other.length) - start;
  while (numSame < most && one[one.length - 1 - numSame] === other[other.length - 1 - numSame]) numSame++;
  const left = one.slice(start, one.length - numSame);
  const right = other.slice(start, other.length - numSame);
  const hunks = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...(matches(left, right) ?? []), [left.length, right.length]]) {
    if (nextX > x || nextY > y) hunks.push({ oneStart: start + x, oneStop: start + nextX, start: start + y, stop: start + nextY });
    [x, y] = [nextX + 1, nextY + 1];
  }
  return hunks;
}

/**
 * Pairs of places of a longest common subsequence; null: it takes more than MAX_EDITS edits.
 * @param {string[]} one @param {string[]} other
 * @returns {number[][] | null}
 */
function matches(one, other) {
  const most = Math.min(one.length + other.length, MAX_EDITS);
  // Furthest place in the one on each diagonal k = x - y, at index k + middle.
  const middle = most + 1;
  const reach = new Int32Array(2 * most + 3);
  const steps = [];
  for (let edits = 0; edits <= most; edits++) {
    steps.push(reach.slice());
    for (let k = -edits; k <= edits; k += 2) {
      const isDown = k === -edits || (k !== edits && reach[middle + k - 1] < reach[middle + k + 1]);
      let x = isDown ? reach[middle + k + 1] : reach[middle + k - 1] + 1;
      while (x < one.length && x - k < other.length && one[x] === other[x - k]) x++;
      reach[middle + k] = x;
      if (x >= one.length && x - k >= other.length) return walkBack(steps, middle, one.length, other.length);
    }
  }
  return null;
}

/** @param {Int32Array[]} steps @param {number} middle @param {number} x @param {number} y */
function walkBack(steps, middle, x, y) {
  const pairs = [];
  for (let edits = steps.length - 1; edits >= 0; edits--) {
    const reach = steps[edits];
    const k = x - y;
    const isDown = k === -edits || (k !== edits && reach[middle + k - 1] < reach[middle + k + 1]);
    const before = isDown ? k + 1 : k - 1;
    const fromX = edits ? reach[middle + before] : 0;
    const startX = edits ? (isDown ? fromX : fromX + 1) : 0;
    while (x > startX) pairs.push([--x, --y]);
    if (edits) [x, y] = [fromX, fromX - before];
  }
  return pairs.reverse();
}
