// A value as a tree: names and values of objects and lists, the inner ones folded by hand.

import { html } from "./html.js";
import { Long } from "./long.js";

/** What is longer is folded at first, and shows so much of itself. */
const MAX_OPEN = 20;
const MAX_SHOWN = 200;
/** Each level is drawn inside the one before it: some thousands of them are more than the stack holds. */
const MAX_DEPTH = 40;

/** Whether values stand in one another deeper than a tree shows them; level by level, as no depth may end the stack here. @param {unknown} value */
export function isTooDeep(value) {
  let level = [value];
  for (let depth = 0; level.length; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
  return false;
}

/** A value that is not too deep. @param {{value: unknown, name?: string}} properties name: of a value that stands in another one */
export function Tree({ value, name }) {
  const label = name === undefined ? null : html`<span class="key">${name}</span>`;
  if (typeof value !== "object" || value === null) return html`<div class="leaf">${label}${leaf(value)}</div>`;
  const entries = Object.entries(value);
  const children = html`<div class="branch">${entries.slice(0, MAX_SHOWN).map(([key, each]) => html`<${Tree} key=${key} name=${key} value=${each} />`)}
    ${entries.length > MAX_SHOWN && html`<div class="leaf about">and ${entries.length - MAX_SHOWN} more</div>`}</div>`;
  if (name === undefined) return html`<div class="tree">${entries.length ? children : html`<span class="about">nothing</span>`}</div>`;
  const size = Array.isArray(value) ? `${entries.length} ${entries.length === 1 ? "item" : "items"}` : `${entries.length} ${entries.length === 1 ? "field" : "fields"}`;
  return html`<details open=${entries.length <= MAX_OPEN}><summary>${label}<span class="about">${size}</span></summary>${children}</details>`;
}

/** @param {unknown} value */
function leaf(value) {
  const kind = typeof value === "string" ? "string" : typeof value === "number" ? "number" : "word";
  return html`<span class=${`value code-${kind}`} dir="auto"><${Long} text=${String(value)} /></span>`;
}
