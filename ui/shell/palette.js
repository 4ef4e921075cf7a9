// The palette: everything by its name, at the tips of the fingers.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { Dialog } from "../parts/dialog.js";
import { html } from "../parts/html.js";
import { matching } from "../parts/matching.js";
import { fields, load } from "../state/config.js";
import { load as loadPresets } from "../state/presets.js";
import { readTitles } from "../state/search.js";
import { status } from "../state/server.js";
import { dialog } from "../state/session.js";
import { groups } from "./commands.js";

const LIMIT = 12;
/** Of each group before anything is typed. */
const FIRST_LIMIT = 6;

/** @param {{views: import("./frame.js").Place[]}} properties */
export function Palette({ views }) {
  const [wanted, setWanted] = useState("");
  const [at, setAt] = useState(0);
  const [isEntered, setEntered] = useState(false);
  const chosen = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    // Without a server, or its key, there is nothing to ask it.
    if (!fields.value.length && !["", "away", "locked"].includes(status.value)) load();
    loadPresets();
    readTitles();
  }, []);
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [at]);
  const found = matching(groups(views), wanted, wanted.trim() ? LIMIT : FIRST_LIMIT);
  const items = found.flatMap((group) => group.items);
  const close = () => (dialog.value = null);
  const run = (/** @type {import("../state/actions.js").Action} */ item) => {
    close();
    // Once it is gone and the focus is back where it was, so that what is done can take it from there.
    requestAnimationFrame(() => setTimeout(item.act));
  };
  // What it is may still be on its way.
  useEffect(() => {
    if (!isEntered || !items[at]) return;
    setEntered(false);
    run(items[at]);
  });
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: LIMIT, PageUp: -LIMIT }[event.key];
    if (event.key === "Enter") setEntered(true);
    else if (by && items.length) setAt(Math.abs(by) > 1 ? Math.max(0, Math.min(items.length - 1, at + by)) : (at + by + items.length) % items.length);
    else return;
    event.preventDefault();
  };
  const type = (/** @type {any} */ event) => (setWanted(event.target.value), setAt(0), setEntered(false));
  return html`<${Dialog} label="Palette" kind="palette" onClose=${close}>
    <input class="field" id="palette" role="combobox" aria-label="Go to or do" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" autocomplete="off" spellcheck="false"
      aria-activedescendant=${items[at] ? `choice-${at}` : undefined} placeholder="Chats, views, models, fields, actions" value=${wanted} onInput=${type} onKeyDown=${keys} />
    <div class="choices-list" id="palette-list" role="listbox" aria-label="What there is">
      ${found.map(
        ({ name, items: inside }) => html`<div role="group" aria-label=${name} key=${name}><div class="group-name" aria-hidden="true">${name}</div>
          ${inside.map((item) => {
            const index = items.indexOf(item);
            const isChosen = index === at;
            return html`<div role="option" id=${`choice-${index}`} key=${item.label} class="row" aria-selected=${isChosen} ref=${isChosen ? chosen : undefined}
              onPointerMove=${() => index !== at && setAt(index)} onClick=${() => run(item)}>
              <span class="name">${item.label}</span>${item.about && html`<span class="about">${item.about}</span>`}${item.keys && html`<kbd>${item.keys}</kbd>`}
            </div>`;
          })}
        </div>`,
      )}
    </div>
    ${!items.length && html`<p class="about" role="status">Nothing has that name.</p>`}
  <//>`;
}
