// The one animation frame loop: draws what has come for the answers that are shown, a quarter of the thread at most.

const MIN_PAUSE_MS = 16;
const COST_FACTOR = 4;

/** @typedef {{draw: () => boolean}} Drawn draw returns whether it goes on being drawn */

/** @type {Map<Drawn, number>} by when each may be drawn again */
const drawn = new Map();
/** @type {Set<() => void>} */
const afterwards = new Set();
let isScheduled = false;

/** @param {Drawn} one */
export function follow(one) {
  drawn.set(one, 0);
  schedule();
  return () => {
    drawn.delete(one);
  };
}

/** Runs after each frame in which something was drawn. @param {() => void} work */
export function after(work) {
  afterwards.add(work);
  return () => afterwards.delete(work);
}

/** Something grew by itself: what keeps the reader's place looks at it with the next frame. */
export function stir() {
  schedule();
}

function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(frame);
}

function frame() {
  isScheduled = false;
  for (const [one, notBefore] of drawn) {
    const start = performance.now();
    if (start < notBefore) continue;
    if (!one.draw()) drawn.delete(one);
    else drawn.set(one, start + Math.max(MIN_PAUSE_MS / 2, COST_FACTOR * (performance.now() - start)));
  }
  for (const work of afterwards) work();
  if (drawn.size) schedule();
}
