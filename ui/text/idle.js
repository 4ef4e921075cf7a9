// Work for when the page has nothing better to do: colours and formulas first, then what only measures.

const MIN_LEFT_MS = 2;
// What only measures makes the browser lay out a sheet, and waits for a longer pause than there is between two frames.
const MIN_LEFT_LAST_MS = 8;
// Where the browser cannot tell of idle time.
const STEP_MS = 4;
const PAUSE_MS = 30;
// A page that is never idle gets its colours too.
const LATEST_MS = 1000;

/** @typedef {() => void} Work */

/** @type {Work[]} */
const soon = [];
/** @type {Set<Work>} */
const last = new Set();
let isWaiting = false;
/** The request for idle time that has no end, by its number; 0: there is none. */
let endless = 0;

/** @param {Work} work */
export function later(work) {
  soon.push(work);
  if (endless) {
    cancelIdleCallback(endless);
    isWaiting = false;
  }
  wait();
}

/** After all of the above; the same function waits only once. @param {Work} work */
export function lastly(work) {
  last.add(work);
  wait();
}

function wait() {
  if (isWaiting) return;
  isWaiting = true;
  endless = 0;
  if (!("requestIdleCallback" in window)) setTimeout(() => run(null), PAUSE_MS);
  else if (soon.length) requestIdleCallback(run, { timeout: LATEST_MS });
  else endless = requestIdleCallback(run);
}

/** @param {IdleDeadline | null} deadline */
function run(deadline) {
  isWaiting = false;
  endless = 0;
  const start = performance.now();
  const hasLeft = (/** @type {number} */ ms) => (deadline ? deadline.timeRemaining() > ms : performance.now() - start < STEP_MS);
  // One at least, however busy the page is.
  do soon.shift()?.();
  while (soon.length && hasLeft(MIN_LEFT_MS));
  while (!soon.length && last.size && hasLeft(MIN_LEFT_LAST_MS)) {
    const [work] = last;
    last.delete(work);
    work();
  }
  if (soon.length || last.size) wait();
}
