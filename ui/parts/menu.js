// A button and the menu that it opens, on top of everything, moved through by arrow keys.

import { useRef, useState } from "../vendor/hooks.js";
import { html } from "./html.js";

const GAP_PX = 6;

/**
 * @typedef {{label: string, act: () => void, about?: string, isChecked?: boolean, isOne?: boolean, isDisabled?: boolean, isBad?: boolean, isApart?: boolean}} Item
 *   isChecked: it is a switch; isOne: of those only one is on; isApart: a line above it
 * @param {{id: string, label: string, face: unknown, items: Item[], kind?: string, title?: string}} properties kind: the button's class
 */
export function Menu({ id, label, face, items, kind = "icon-button", title = label }) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const toggle = (/** @type {ToggleEvent} */ event) => {
    setOpen(event.newState === "open");
    if (event.newState !== "open" || !list.current || !button.current) return;
    place(list.current, button.current);
    const all = choices(list.current);
    (all.find((choice) => choice.matches("[role=menuitemradio][aria-checked=true]")) ?? all[0])?.focus();
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    // Escape closes it and nothing else; Tab leaves it.
    if (event.key === "Escape") event.stopPropagation();
    if (event.key === "Tab") list.current?.hidePopover();
    step(event, choices(list.current));
  };
  // Until the focus is in it, a moment after it was opened, Escape is still the menu's.
  const hold = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape" && list.current?.matches(":popover-open")) event.stopPropagation();
  };
  const pick = (/** @type {Item} */ item) => {
    list.current?.hidePopover();
    button.current?.focus();
    item.act();
  };
  return html`<button type="button" class=${kind} id=${id} ref=${button} aria-label=${label} title=${title} aria-haspopup="menu" aria-expanded=${isOpen}
      popovertarget=${`${id}-menu`} onKeyDown=${hold}>${face}</button>
    <div class="menu afloat" id=${`${id}-menu`} ref=${list} popover="auto" role="menu" aria-label=${label} onToggle=${toggle} onKeyDown=${keys}>
      ${items.map(
        (item) => html`<button type="button" key=${item.label} class=${`row ${item.isBad ? "bad" : ""} ${item.isApart ? "apart" : ""}`} tabindex="-1"
          role=${item.isChecked === undefined ? "menuitem" : item.isOne ? "menuitemradio" : "menuitemcheckbox"} aria-checked=${item.isChecked} disabled=${item.isDisabled}
          onClick=${() => pick(item)}><span class="name">${item.label}</span>${item.about && html`<span class="about">${item.about}</span>`}
          ${item.isChecked && html`<span class="check" aria-hidden="true">✓</span>`}</button>`,
      )}
    </div>`;
}

/** @param {HTMLElement | null} list @returns {HTMLElement[]} */
function choices(list) {
  return [...(list?.querySelectorAll("button:not(:disabled)") ?? [])].map((each) => /** @type {HTMLElement} */ (each));
}

/** Arrow keys, Home and End move the focus among them. @param {KeyboardEvent} event @param {HTMLElement[]} all */
function step(event, all) {
  const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined || !all.length) return;
  event.preventDefault();
  all[(to + all.length) % all.length].focus();
}

/** Under the button, or over it where there is no room. @param {HTMLElement} list @param {HTMLElement} button */
function place(list, button) {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = list;
  const isBelow = at.bottom + GAP_PX + height <= innerHeight || at.top < height + GAP_PX;
  const left = at.left + width <= innerWidth - GAP_PX ? at.left : at.right - width;
  list.style.left = `${Math.max(GAP_PX, left)}px`;
  list.style.top = `${isBelow ? Math.min(at.bottom + GAP_PX, Math.max(GAP_PX, innerHeight - height - GAP_PX)) : at.top - height - GAP_PX}px`;
}
