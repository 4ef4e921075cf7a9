// Work for when the page has nothing better to do: colours and formulas first, then what only measures.

const MIN_LEFT_MS = 2;
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

/** @param {Work} work */
export function later(work) {
  soon.push(work);
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
  if ("requestIdleCallback" in window) requestIdleCallback(run, { timeout: LATEST_MS });
  else setTimeout(() => run(null), PAUSE_MS);
}

/** @param {IdleDeadline | null} deadline */
function run(deadline) {
  isWaiting = false;
  const start = performance.now();
  const hasTime = () => (deadline ? deadline.timeRemaining() > MIN_LEFT_MS : performance.now() - start < STEP_MS);
  // One at least, however busy the page is.
  do next();
  while ((soon.length || last.size) && hasTime());
  if (soon.length || last.size) wait();
}

function next() {
  const work = soon.shift();
  if (work) return work();
  const [least] = last;
  last.delete(least);
  least();
}
