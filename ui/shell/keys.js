// The keys that hold in every view. What is written, and what lies over the page, keeps its own.

import { go } from "../router.js";
import { NEW } from "../state/chats.js";
import { dialog, look, route, showBeside } from "../state/session.js";

/** As long as a view that was just asked for may take to stand there. */
const MAX_FRAMES = 300;
const FIELDS = "input:not([type=radio], [type=range], [type=checkbox]), textarea, select";
const LISTS = ".list, .runs";

/** Listens until what it returns is called. @param {string[]} views their names, in the order of the rail */
export function listen(views) {
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.defaultPrevented) return;
    if (act(event, views)) event.preventDefault();
  };
  document.addEventListener("keydown", press);
  return () => document.removeEventListener("keydown", press);
}

export function startNew() {
  go("chat", NEW);
  return focusOn("#prompt");
}

/** The list of chats, with the focus in its search. */
export function searchChats() {
  if (route.value.view !== "chat") go("chat");
  showBeside("list", true);
  return focusOn("#search-chats");
}

/** What is there, or will be in a moment, gets the focus. @param {string} selector */
export async function focusOn(selector) {
  const found = await present(selector);
  // What is folded takes no focus.
  found?.closest("details")?.setAttribute("open", "");
  found?.scrollIntoView({ block: "nearest" });
  found?.focus();
}

/** Waits for it a moment; null: it does not come. @param {string} selector @returns {Promise<HTMLElement | null>} */
export async function present(selector) {
  for (let frame = 0; frame < MAX_FRAMES; frame += 1) {
    const found = /** @type {HTMLElement | null} */ (document.querySelector(selector));
    if (found) return found;
    await new Promise(requestAnimationFrame);
  }
  return null;
}

/** Returns whether the key meant something here. @param {KeyboardEvent} event @param {string[]} views */
function act(event, views) {
  const { altKey, code, key, shiftKey } = event;
  const target = event.target instanceof HTMLElement ? event.target : document.body;
  const hasControl = (event.ctrlKey || event.metaKey) && !altKey;
  if (hasControl && !shiftKey && code === "KeyK") return open("palette") && keepTyped();
  if (target.closest("dialog")) return false;
  if (hasControl && shiftKey && code === "KeyF") return searchChats(), true;
  if (hasControl && shiftKey && code === "KeyO") return startNew(), true;
  if (hasControl && key === ".") return panel();
  const number = /^Digit([1-9])$/.exec(code)?.[1];
  if (altKey && !shiftKey && !event.ctrlKey && number && views[Number(number) - 1]) return go(views[Number(number) - 1]), true;
  if (hasControl || event.ctrlKey || altKey || target.matches(FIELDS)) return false;
  if ((key === "End" || key === "Home") && !shiftKey && (target === document.body || target.closest(".transcript"))) return scroll(key === "End");
  const down = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (down && !shiftKey && target.closest(LISTS)) return step(target, down);
  if (!look.value.hasLetters) return false;
  if (key === "?") return open("keys");
  if (key === "/") return toPrompt();
  if ((key === "j" || key === "k") && target.closest(LISTS)) return step(target, key === "j" ? 1 : -1);
  if (key === "p") return pinRow(target);
  return false;
}

/** @param {"palette" | "keys"} name */
function open(name) {
  dialog.value = dialog.value === name ? null : name;
  return true;
}

/** What is typed before the palette stands there belongs into it. */
function keepTyped() {
  let typed = "";
  let isEntered = false;
  const take = (/** @type {KeyboardEvent} */ event) => {
    const isEnter = event.key === "Enter";
    if (dialog.value !== "palette" || isEntered || (event.key.length > 1 && !isEnter) || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isEnter) isEntered = true;
    else typed += event.key;
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener("keydown", take, true);
  present("#palette:focus").then((field) => {
    removeEventListener("keydown", take, true);
    if (!(field instanceof HTMLInputElement) || !(typed || isEntered)) return;
    field.value += typed;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    // Once the list is that of what was typed.
    if (isEntered) requestAnimationFrame(() => setTimeout(() => field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }))));
  });
  return true;
}

function toPrompt() {
  const prompt = document.getElementById("prompt");
  prompt?.focus();
  return Boolean(prompt);
}

function panel() {
  if (route.value.view !== "chat") return false;
  showBeside("panel");
  return true;
}

/** @param {boolean} isToEnd */
function scroll(isToEnd) {
  const place = document.querySelector(".transcript");
  place?.scrollTo({ top: isToEnd ? place.scrollHeight : 0, behavior: "instant" });
  return Boolean(place);
}

/** The chat whose row that is of goes above the others, or back. @param {HTMLElement} target */
function pinRow(target) {
  const button = /** @type {HTMLElement | null | undefined} */ (target.closest(".list li")?.querySelector(".pin"));
  button?.click();
  return Boolean(button);
}

/** To the next or the previous row of a list. @param {HTMLElement} target @param {number} by */
function step(target, by) {
  const all = /** @type {HTMLElement[]} */ ([...(target.closest(LISTS)?.querySelectorAll("li a") ?? [])]);
  const next = all[all.findIndex((each) => each.closest("li") === target.closest("li")) + by];
  next?.focus();
  return Boolean(next);
}
