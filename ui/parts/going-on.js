// What the focus is led to after something was done, unless a person has gone on by then.

/**
 * Returns what does a work with the next frame, where neither a key nor a pointer came between now and then: whoever
 * goes on at once is not led back, and the letters that follow are none of the place that was left.
 * @returns {(work: () => void) => void}
 */
export function unlessGoneOn() {
  const end = new AbortController();
  let hasGoneOn = false;
  const note = (/** @type {Event} */ event) => {
    // A key that is held comes again by itself.
    if (!(event instanceof KeyboardEvent && event.repeat)) hasGoneOn = true;
  };
  for (const kind of ["keydown", "pointerdown"]) addEventListener(kind, note, { capture: true, signal: end.signal });
  return (work) => {
    requestAnimationFrame(() => {
      end.abort();
      if (!hasGoneOn) work();
    });
  };
}
