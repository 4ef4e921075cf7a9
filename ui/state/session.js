// This tab: where it is, how it looks, its key, its connection.

import { client } from "../api/client.js";
import { computed, signal } from "../vendor/signals-core.js";

const LOOK = "ignis.look";
const KEY = "ignis.key";
const UNDO_MS = 10_000;
const FULL = "This browser has no room left: what comes now is lost with this tab. Delete or export chats.";
const BLOCKED = "Chats are not kept in this browser: it lets no site keep anything. All that is here goes with this tab.";
/** Why nothing is kept, by the name of the error. */
const REASONS = new Map([
  ["QuotaExceededError", FULL],
  ["SecurityError", BLOCKED],
  // Its database was closed for a newer page.
  ["InvalidStateError", "Another tab has a newer page: reload to go on. What is here stays on the screen."],
  ["VersionError", "Chats are not kept: a newer page was here before this one. Reload to get it."],
]);
/** What a header can say; all else no server has ever been given as a key. */
const UNSENDABLE = /[^\x20-\x7e\xa0-\xff]/u;

/** @typedef {{view: string, path: string[]}} Route */

export const TEXT = { least: 90, most: 130 };
const defaults = { theme: "auto", density: "comfortable", textSize: 100, hasLetters: true, isPanelOpen: true, isListOpen: true };
/** What stands beside a chat: where the page is narrower, it lies over it. */
const BESIDE = /** @type {const} */ ({ list: { narrow: "(max-width: 69.99rem)", flag: "isListOpen" }, panel: { narrow: "(max-width: 79.99rem)", flag: "isPanelOpen" } });

/** @type {import("../vendor/signals-core.js").Signal<Route>} */
export const route = signal({ view: "chat", path: [] });
export const look = signal({ ...defaults, ...storedLook() });
/** What lies over a narrow page. */
export const drawer = signal(/** @type {"list" | "panel" | null} */ (null));
/** How often the page became so narrow or so wide that what stands beside a chat lies over it, or stands beside it again. */
const turned = signal(0);
/** Which tab of the panel beside a chat is open. */
export const panelTab = signal("settings");
/** What lies over the page as a dialog. */
export const dialog = signal(/** @type {"palette" | "keys" | "clear" | null} */ (null));
/** When the connection was lost, in ms since 1970; null while there is one. */
export const lostAt = signal(/** @type {number | null} */ (null));
export const isKeyWanted = signal(/** @type {boolean | "refused"} */ (false));
export const hasKey = signal(false);
/** What a screen reader is told next. */
export const announcement = signal({ text: "", isUrgent: false });
/** Why chats are not kept in this browser; empty while they are. */
export const storageProblem = signal("");
/** Whether that is for want of room: what is on the screen then goes into a file at least. */
export const isStoreFull = computed(() => storageProblem.value === FULL);
/** What was done and can be undone for a while, the latest first. */
export const undoable = signal(/** @type {{text: string, undo: () => unknown}[]} */ ([]));
/** What will not fit of the message that is written. */
export const excess = signal("");
/** Why what a person just asked for was not sent. */
export const refusal = signal("");
export const isConnected = computed(() => lostAt.value === null);
/** What the browser was given to keep and did not. @type {Map<string, string | null>} */
const unkept = new Map();
let fading = 0;

// --- Lifecycle

export function start() {
  client.listen({
    onContact: (hasContact) => (lostAt.value = hasContact ? null : (lostAt.value ?? Date.now())),
    onRefusedKey: () => (isKeyWanted.value = "refused"),
  });
  const key = keptWord("sessionStorage", KEY) ?? "";
  useKey(strangerIn(key) ? "" : key);
  // As another tab set it; what is open beside a chat is each tab's own.
  addEventListener("storage", ({ key: name }) => name === LOOK && wear({ ...storedLook(), isPanelOpen: look.value.isPanelOpen, isListOpen: look.value.isListOpen }));
  for (const { narrow } of Object.values(BESIDE)) matchMedia(narrow).addEventListener("change", () => ((drawer.value = null), (turned.value += 1)));
}

// --- Actions

/** The first character of a key that cannot be sent to any server; "" where there is none. @param {string} key */
export function strangerIn(key) {
  return UNSENDABLE.exec(key)?.[0] ?? "";
}

/** @param {string} key one that can be sent; an empty one forgets it */
export function useKey(key) {
  keepWord("sessionStorage", KEY, key || null);
  client.useKey(key);
  hasKey.value = key !== "";
  isKeyWanted.value = false;
}

export function refuseKey() {
  client.settleKey();
  isKeyWanted.value = false;
}

/** @param {"list" | "panel"} name */
export function isBeside(name) {
  const { narrow, flag } = BESIDE[name];
  turned.value;
  return matchMedia(narrow).matches ? drawer.value === name : look.value[flag];
}

/** @param {"list" | "panel"} name @param {boolean} [isShown] */
export function showBeside(name, isShown = !isBeside(name)) {
  const { narrow, flag } = BESIDE[name];
  if (matchMedia(narrow).matches) drawer.value = isShown ? name : null;
  else if (look.value[flag] !== isShown) setLook({ [flag]: isShown });
}

/** @param {Partial<typeof defaults>} changes */
export function setLook(changes) {
  wear(changes);
  // Another tab may have set something else since.
  keepWord("localStorage", LOOK, JSON.stringify({ ...storedLook(), ...changes }));
}

/** Says what was done, and how it is undone, for a while. @param {string} text @param {() => unknown} undo */
export function offerUndo(text, undo) {
  offer([{ text, undo }, ...undoable.value]);
}

/** From now on for as long as one of them alone. @param {typeof undoable.value} all */
export function offer(all) {
  undoable.value = all;
  clearTimeout(fading);
  fading = setTimeout(() => (undoable.value = []), UNDO_MS);
  if (all.length) announce(`${all[0].text}. Undo is offered.`);
}

/** @param {string} text @param {boolean} [isUrgent] */
export function announce(text, isUrgent = false) {
  announcement.value = { text, isUrgent };
}

/** Does what sends. What a form or tools that are written by hand lack is said where the next message is written. @param {() => unknown} work */
export async function sending(work) {
  refusal.value = "";
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    refusal.value = error.message;
  }
}

/** A word that a store of the browser keeps. @param {"localStorage" | "sessionStorage"} store @param {string} name @returns {string | null} */
export function keptWord(store, name) {
  try {
    return unkept.get(name) ?? globalThis[store].getItem(name);
  } catch {
    storageProblem.value ||= BLOCKED;
    return null;
  }
}

/** What the browser does not keep lasts as long as the page. @param {"localStorage" | "sessionStorage"} store @param {string} name @param {string | null} word */
export function keepWord(store, name, word) {
  unkept.delete(name);
  try {
    if (word === null) globalThis[store].removeItem(name);
    else globalThis[store].setItem(name, word);
  } catch {
    unkept.set(name, word);
  }
}

/** What cannot be kept is said, and the page goes on without. Returns what the work does, or undefined where the browser keeps nothing. @template T @param {() => Promise<T>} work */
export async function keeping(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DOMException) && !(error instanceof Error)) throw error;
    // What blocks the data of sites has no name of its own in the database.
    if (storageProblem.value !== BLOCKED) storageProblem.value = inWords(error);
    return undefined;
  }
}

// --- Internal

/** The browser's own words are for who wrote the page; the store's are for who reads it. @param {DOMException | Error} error */
function inWords({ name, message }) {
  return REASONS.get(name) ?? `Chats are not kept in this browser: ${name === "Error" ? message : "it keeps no database for this page"}.`;
}

/** @param {Partial<typeof defaults>} changes */
function wear(changes) {
  look.value = { ...look.value, ...changes };
  Object.assign(document.documentElement.dataset, { theme: look.value.theme, density: look.value.density });
  document.documentElement.style.fontSize = look.value.textSize === 100 ? "" : `${look.value.textSize}%`;
}

function storedLook() {
  try {
    const { textSize, ...kept } = JSON.parse(localStorage.getItem(LOOK) ?? "{}");
    return { ...kept, textSize: Math.min(TEXT.most, Math.max(TEXT.least, textSize)) || defaults.textSize };
  } catch {
    // What an older page left is no reason not to start.
    return {};
  }
}
