// On a phone the panel is a sheet with three stops: what it is drawn by, or moved by keys.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";

/** Of the chat's height, in %. */
const STOPS = [38, 68, 96];
const WORDS = ["low", "half", "full"];
/** Drawn under this, it goes. */
const CLOSED = 22;
/** Less than that was a press. */
const PRESS_PX = 6;
/** Where it is going to be so much later, by the way it was drawn last, decides which stop it goes to. */
const AHEAD_MS = 120;
const SLIDE_MS = 180;
const isStill = matchMedia("(prefers-reduced-motion: reduce)");
/** Where it was left, as long as the page lives. */
let left = 1;

/** @param {{onClose: () => void}} properties */
export function Grip({ onClose }) {
  const [stop, setStop] = useState(left);
  const grip = useRef(/** @type {HTMLElement | null} */ (null));
  const drawn = useRef({ y: 0, height: 0, last: 0, at: 0, speed: 0, hasMoved: false });
  const sheet = () => /** @type {HTMLElement} */ (grip.current?.closest(".panel"));
  useLayoutEffect(() => lay(sheet(), STOPS[stop]), []);
  const go = (/** @type {number} */ to) => {
    left = Math.max(0, Math.min(STOPS.length - 1, to));
    setStop(left);
    glide(sheet(), STOPS[left]);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const to = { ArrowUp: stop + 1, ArrowRight: stop + 1, ArrowDown: stop - 1, ArrowLeft: stop - 1, Home: 0, End: STOPS.length - 1, Enter: (stop + 1) % STOPS.length }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  };
  const down = (/** @type {PointerEvent} */ event) => {
    grip.current?.setPointerCapture(event.pointerId);
    const height = sheet().getBoundingClientRect().height;
    drawn.current = { y: event.clientY, height, last: event.clientY, at: event.timeStamp, speed: 0, hasMoved: false };
  };
  const move = (/** @type {PointerEvent} */ event) => {
    if (!grip.current?.hasPointerCapture(event.pointerId)) return;
    const by = drawn.current;
    if (Math.abs(event.clientY - by.y) > PRESS_PX) by.hasMoved = true;
    if (event.timeStamp > by.at) by.speed = (event.clientY - by.last) / (event.timeStamp - by.at);
    Object.assign(by, { last: event.clientY, at: event.timeStamp });
    if (by.hasMoved) lay(sheet(), shareOf(sheet(), by.height + by.y - event.clientY));
  };
  const up = (/** @type {PointerEvent} */ event) => {
    if (!grip.current?.hasPointerCapture(event.pointerId)) return;
    grip.current.releasePointerCapture(event.pointerId);
    const { hasMoved, height, y, at, speed } = drawn.current;
    if (!hasMoved) return go((stop + 1) % STOPS.length);
    // Who held it still at the end does not throw it.
    const ahead = event.timeStamp - at < AHEAD_MS ? speed * AHEAD_MS : 0;
    const share = shareOf(sheet(), height + y - event.clientY - ahead);
    if (share < CLOSED) {
      const hadFocus = sheet().contains(document.activeElement);
      onClose();
      if (hadFocus) document.getElementById("settings-toggle")?.focus();
      return;
    }
    go(STOPS.reduce((best, each, index) => (Math.abs(each - share) < Math.abs(STOPS[best] - share) ? index : best), 0));
  };
  return html`<div class="grip" ref=${grip} role="slider" tabindex="0" aria-label="Height of the sheet" aria-orientation="vertical" aria-valuemin="0" aria-valuemax=${STOPS.length - 1}
    aria-valuenow=${stop} aria-valuetext=${WORDS[stop]} onKeyDown=${keys} onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${() => go(stop)}></div>`;
}

// --- Internal

/** @param {HTMLElement} sheet @param {number} share of the chat's height, in % */
function lay(sheet, share) {
  sheet.style.setProperty("--sheet", `${Math.max(0, Math.min(share, STOPS[STOPS.length - 1]))}%`);
}

/** @param {HTMLElement} sheet @param {number} heightPx */
function shareOf(sheet, heightPx) {
  return (100 * heightPx) / (sheet.offsetParent?.clientHeight || 1);
}

/** It has its height at once, and comes there from where it was seen. @param {HTMLElement} sheet @param {number} share */
function glide(sheet, share) {
  const before = sheet.getBoundingClientRect().top;
  lay(sheet, share);
  const by = before - sheet.getBoundingClientRect().top;
  if (by && !isStill.matches) sheet.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: SLIDE_MS, easing: "cubic-bezier(0.2, 0, 0, 1)" });
}
