// Keys as every editor takes them: which press of Enter sends, what the control key is called, and what is an input method's.

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
