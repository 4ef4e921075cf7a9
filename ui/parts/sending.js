// Keys as every part takes them: which press of Enter sends, what the control key is called, what is an input method's, and
// whether one came since.

/** What the key is called here that the page's own keys are pressed with. */
export const CONTROL = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl";
const isTouch = matchMedia("(pointer: coarse)");

/** From now on no part of the page hears a key that an input method takes for a word. */
export function shieldWords() {
  const shield = (/** @type {KeyboardEvent} */ event) => {
    // Where the key that ends the word comes after its end, only the number says so.
    if (event.isComposing || event.keyCode === 229) event.stopImmediatePropagation();
  };
  addEventListener("keydown", shield, { capture: true });
}

/** Whether that key press sends. @param {KeyboardEvent} event */
export function isSending(event) {
  if (event.key !== "Enter") return false;
  if (event.ctrlKey || event.metaKey) return true;
  return !event.shiftKey && !isTouch.matches;
}

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
