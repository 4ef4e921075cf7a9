// What goes with the focus on it, or can be pressed no more, leaves the focus where a person goes on: no key is for nobody.

/** What comes in rows: what is left of the row has it, else the next row, else the one before. */
const ROWS = "tr, li, .lane, .turn";
const FOCUSABLE = "a[href], button:not(:disabled), [tabindex='0']";
/** What is folded gives it to what unfolds it. */
const HOMES = new Map([[".panel", "#settings-toggle"], [".detail", "tr.chosen button.name"]]);
const FIELDS = "input, textarea, select";
/** As long as what was asked for may take to be done. */
const MAX_FRAMES = 60;
/** So long it is nobody's before it is given away: what was done may give it itself. */
const MIN_FRAMES = 2;
const isTouch = matchMedia("(pointer: coarse)");

/** Looks after it until what it returns is called. */
export function keepFocus() {
  const press = (/** @type {KeyboardEvent} */ event) => {
    const isTyped = event.target instanceof Element && event.target.matches(FIELDS);
    if (!isTyped || event.ctrlKey || event.metaKey || event.key === "Escape") look();
  };
  document.addEventListener("click", look, { capture: true });
  document.addEventListener("keydown", press, { capture: true });
  return () => {
    document.removeEventListener("click", look, { capture: true });
    document.removeEventListener("keydown", press, { capture: true });
  };
}

// --- Internal

function look() {
  const from = document.activeElement;
  if (!(from instanceof HTMLElement) || from === document.body) return;
  const places = placesAfter(from);
  let numFree = 0;
  let numFrames = 0;
  const wait = () => {
    const isFree = document.activeElement === document.body;
    // Some other thing has it; or it was given up, and nothing went.
    if (!isFree && document.activeElement !== from) return;
    if (isFree && from.isConnected && !from.matches(":disabled") && from.checkVisibility()) return;
    numFree = isFree ? numFree + 1 : 0;
    if (numFree > MIN_FRAMES) give(places);
    else if ((numFrames += 1) < MAX_FRAMES) requestAnimationFrame(wait);
  };
  requestAnimationFrame(wait);
}

/** Where it may go, the best first, as things stand before anything is done. @param {HTMLElement} from @returns {(() => Element | null | undefined)[]} */
function placesAfter(from) {
  const row = from.closest(ROWS);
  const beside = [row?.nextElementSibling, row?.previousElementSibling];
  const home = [...HOMES].find(([inside]) => from.closest(inside))?.[1];
  const unfolder = home ? document.querySelector(home) : null;
  const inside = (/** @type {Element | null | undefined} */ place) => () => (place?.isConnected ? focusableIn(place) : null);
  return [() => unfolder, inside(row), ...beside.map(inside), () => isTouch.matches ? null : document.getElementById("prompt"), () => document.querySelector("#view h1")];
}

/** A turn takes it itself, as its keys do. @param {Element} place */
function focusableIn(place) {
  return place.matches(".turn") ? place : [...place.querySelectorAll(FOCUSABLE)].find((each) => each.checkVisibility());
}

/** @param {(() => Element | null | undefined)[]} places */
function give(places) {
  for (const place of places) {
    const found = place();
    if (!(found instanceof HTMLElement) || !found.isConnected) continue;
    // What is read stays where it is.
    found.focus({ preventScroll: true });
    if (document.activeElement === found) return;
  }
}
