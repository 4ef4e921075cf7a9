// The hash is where the page is: Back works, and a link can name a place. No text of a chat is in it.

import { dialog, route } from "./state/session.js";

/** The API, field by field. */
export const REFERENCE = "../v1/docs/";

export function startRouter() {
  addEventListener("hashchange", read);
  read();
}

/** @param {string[]} parts */
export function go(...parts) {
  location.hash = `#/${parts.map(encodeURIComponent).join("/")}`;
  // The event comes late: what is typed before it would belong to the place that was left.
  read();
}

/**
 * What is shown has this name now: the place before is not one to come back to. Nothing where another view was asked for
 * since it was drawn: what follows a drawing comes late.
 * @param {string[]} parts the view first
 */
export function rename(...parts) {
  read();
  if (route.value.view === parts[0]) replace(parts);
}

/** Leads to the first of the views from an address that is none of theirs. @param {string[]} names */
export function leadHome(names) {
  read();
  if (!names.includes(route.value.view)) replace([names[0]]);
}

/** @param {string[]} parts */
function replace(parts) {
  location.replace(`#/${parts.map(encodeURIComponent).join("/")}`);
  // As in go: who asks for the place before that event comes would seem to be there already.
  read();
}

/** Beside this page: an answer that is under way goes on. */
export function openReference() {
  open(REFERENCE, "_blank", "noopener");
}

function read() {
  const [view = "chat", ...path] = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decode);
  // Keys are of the view that they were asked in.
  if (dialog.value === "keys" && view !== route.value.view) dialog.value = null;
  route.value = { view, path };
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
