// Sheets that the browser skips have the height that they would have if it drew them.

import { stir } from "./frame.js";
import { lastly } from "./idle.js";

/** @type {WeakMap<Element, {width: number}>} */
const known = new WeakMap();
const widths = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const last = known.get(target);
    // At another width all heights are others.
    if (last && last.width !== contentRect.width) for (const sheet of target.querySelectorAll(".sheet.closed")) measureLater(/** @type {HTMLElement} */ (sheet));
    known.set(target, { width: contentRect.width });
  }
});

/** The browser may skip that sheet from now on. @param {HTMLElement} sheet @param {number} heightPx about */
export function close(sheet, heightPx) {
  sheet.classList.add("closed");
  sheet.style.containIntrinsicBlockSize = `auto ${Math.round(heightPx)}px`;
}

/** @param {HTMLElement} sheet one that is closed and built */
export function measureLater(sheet) {
  lastly(() => measure(sheet));
}

/** All closed sheets of a text are measured again when it gets narrower or wider. @param {Element} text */
export function watchWidth(text) {
  widths.observe(text);
}

/** In px, without asking the browser to lay out anything; 0 before it has been shown. @param {Element} text */
export function widthOf(text) {
  return known.get(text)?.width ?? 0;
}

/** @param {HTMLElement} sheet */
function measure(sheet) {
  if (!sheet.isConnected) return;
  // Without auto: what the browser remembers may be of another width.
  sheet.style.contentVisibility = "visible";
  const { height } = sheet.getBoundingClientRect();
  sheet.style.contentVisibility = "";
  sheet.style.containIntrinsicBlockSize = `auto ${height}px`;
  stir();
}
