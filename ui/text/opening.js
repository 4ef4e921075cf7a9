// Long texts are built from the end of the page upward: what is seen at once, the rest a little at a time.

import { stir } from "./frame.js";

const SCREENS = 2;
const STEP_MS = 4;

/** @typedef {{place: Element, heightPx: number, build: () => void}} Job */

/** @type {Job[]} */
let waiting = [];
let isWaiting = false;
let isSorted = true;

/** @param {Job} job place: where it will stand; heightPx: about */
export function buildFromEnd(job) {
  waiting.push(job);
  isSorted = false;
  if (isWaiting) return;
  isWaiting = true;
  // All of them have come, and stand where they belong, once this task is over; the next frame has their last ones.
  queueMicrotask(buildSeen);
}

function buildSeen() {
  sort();
  let leftPx = SCREENS * innerHeight;
  while (leftPx > 0) {
    const job = waiting.pop();
    if (!job) break;
    job.build();
    leftPx -= job.heightPx;
  }
  goOn();
}

function buildSome() {
  sort();
  const start = performance.now();
  do waiting.pop()?.build();
  while (waiting.length && performance.now() - start < STEP_MS);
  goOn();
}

function goOn() {
  stir();
  isWaiting = waiting.length > 0;
  if (isWaiting) setTimeout(buildSome);
}

/** By their place, the last of the page at the end, once for all that came. A place that has left the page meanwhile needs nothing. */
function sort() {
  if (isSorted) return;
  isSorted = true;
  const isBefore = (/** @type {Job} */ one, /** @type {Job} */ other) =>
    one.place.compareDocumentPosition(other.place) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  waiting.sort(isBefore);
}
