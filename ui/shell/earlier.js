// The runs of one kind that this browser keeps, newest first.

import { useEffect, useState } from "../vendor/hooks.js";
import { Dialog } from "../parts/dialog.js";
import { html } from "../parts/html.js";
import { go, rename } from "../router.js";
import { route } from "../state/session.js";
import { Icon } from "./icons.js";

/** @typedef {{shelf: import("../state/shelf.js").Shelf, place: string, unit: string}} What place: the view's name; unit: what a run has several of */

/** A button and the list that it opens. @param {What & {label: string}} properties */
export function Earlier({ label, ...what }) {
  const [isOpen, setOpen] = useState(false);
  const show = () => (what.shelf.refresh(), setOpen(true));
  const close = () => setOpen(false);
  const gone = what.shelf.gone.value;
  useEffect(() => {
    // The address names it no more, so that it can be opened once it is back.
    if (gone && route.value.path[0] === gone) rename(what.place);
  }, [gone]);
  return html`<button type="button" class="icon-button" id="earlier" aria-label=${label} title=${label} onClick=${show}><${Icon} name="earlier" /></button>
    ${isOpen && html`<${Dialog} label=${label} kind="listing" onClose=${close}><${Runs} ...${what} onDone=${close} /><//>`}`;
}

/** @param {What & {onDone: () => void}} properties */
function Runs({ shelf, place, unit, onDone }) {
  const list = shelf.list.value;
  if (!list.length) return html`<p class="about">None yet: what you run is kept here, in this browser only.</p>`;
  return html`<ul class="runs">
    ${list.map(
      ({ id, title, updated, numLanes }) => html`<li key=${id} class=${id === shelf.open.value.id ? "open" : ""}>
        <a href=${`#/${place}/${id}`} onClick=${(/** @type {Event} */ event) => (event.preventDefault(), go(place, id), onDone())}>
          <span class="name">${title || "Without a prompt"}</span>
          <span class="about">${numLanes} ${unit} · ${new Date(updated).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}</span>
        </a>
        <button type="button" class="icon-button" aria-label=${`Delete ${title}`} title="Delete" onClick=${() => shelf.remove(id)}><${Icon} name="bin" /></button>
      </li>`,
    )}
  </ul>`;
}
