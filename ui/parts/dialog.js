// A dialog over the page: it holds the focus, Escape and a press beside it close it, and the focus goes back.

import { useEffect, useRef } from "../vendor/hooks.js";
import { numModal } from "../state/modal.js";
import { html } from "./html.js";
import { Toast } from "./toast.js";

/** @param {{label: string, onClose: () => void, kind?: string, children?: unknown}} properties */
export function Dialog({ label, onClose, kind = "", children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    numModal.value += 1;
    return () => {
      numModal.value -= 1;
      // What came of the dialog may have taken the focus already.
      const isFree = document.activeElement === document.body;
      if (isFree && before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const press = (/** @type {MouseEvent} */ event) => {
    // The dialog itself is hit only beside its content.
    if (event.target === dialog.current) onClose();
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    // At once, and not once the browser tells of it: by then it may be asked for again.
    event.preventDefault();
    onClose();
  };
  return html`<dialog ref=${dialog} class=${`sheetlike ${kind}`} aria-label=${label} onClose=${onClose} onClick=${press} onKeyDown=${keys}>
    <div class="dialog-body"><h2>${label}</h2>${children}</div>
    <${Toast} isInside />
  </dialog>`;
}
