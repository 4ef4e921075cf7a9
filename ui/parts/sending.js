// Which press of Enter sends, the same in every editor, and what the control key is called.

/** What the key is called here that the page's own keys are pressed with. */
export const CONTROL = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl";
const isTouch = matchMedia("(pointer: coarse)");

/** Whether that key press sends and does not end a word of an input method. @param {KeyboardEvent} event */
export function isSending(event) {
  if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return false;
  if (event.ctrlKey || event.metaKey) return true;
  return !event.shiftKey && !isTouch.matches;
}
