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

const sights = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting, boundingClientRect } of entries) {
    if (target.isConnected && (isIntersecting || !boundingClientRect.height)) continue;
    sights.unobserve(target);
    if (target.isConnected) close(/** @type {HTMLElement} */ (target), boundingClientRect.height);
  }
});

/** The browser may skip that sheet from now on. @param {HTMLElement} sheet @param {number} heightPx about */
export function close(sheet, heightPx) {
  sheet.classList.add("closed");
  sheet.style.containIntrinsicBlockSize = `auto ${heightPx}px`;
}

/** The same for a sheet that is drawn: once nobody sees it, for its text would move while it takes a height that is only
 * about its own. @param {HTMLElement} sheet */
export function closeUnseen(sheet) {
  sights.observe(sheet);
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

/** Nobody sees it: its boxes, which take far more memory than its elements, are made anew when it is near. @param {HTMLElement} sheet */
function drop(sheet) {
  if (!sheet.classList.contains("closed") || sheet.contains(document.activeElement)) return;
  sheet.style.display = "none";
  // Asked for, or nothing would be seen of it.
  getComputedStyle(sheet).display;
  sheet.style.display = "";
}

/** @param {HTMLElement} sheet */
function measure(sheet) {
  if (!sheet.isConnected) return;
  // Without auto: what the browser remembers may be of another width.
  sheet.style.contentVisibility = "visible";
  const { height, top, bottom } = sheet.getBoundingClientRect();
  sheet.style.contentVisibility = "";
  sheet.style.containIntrinsicBlockSize = `auto ${height}px`;
  if (top > 2 * innerHeight || bottom < -innerHeight) drop(sheet);
  stir();
}
