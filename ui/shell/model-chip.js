// Which model serves, in what state, and the change to another.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { change, failure, loaded, models, status } from "../state/server.js";
import { Icon } from "./icons.js";

const WORDS = {
  "": "connecting", away: "no server", locked: "needs a key", failed: "failed", unloaded: "asleep",
  loading: "loading", switching: "switching",
};

/** @param {number | undefined} tokens */
export function short(tokens) {
  return tokens === undefined ? "" : tokens >= 1000 ? `${Math.round(tokens / 1024)}k` : String(tokens);
}

export function ModelChip() {
  const [isOpen, setOpen] = useState(false);
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!isOpen) return;
    const leave = (/** @type {Event} */ event) => {
      if (!root.current?.contains(/** @type {Node} */ (event.target))) setOpen(false);
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, [isOpen]);
  const close = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation();
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  };
  // One that sleeps is the one that the next message wakes.
  const known = loaded.value ?? (status.value === "unloaded" ? models.value[0] : undefined);
  const word = WORDS[/** @type {keyof typeof WORDS} */ (status.value)];
  return html`<div class="chip" ref=${root} onKeyDown=${close}>
    <button type="button" id="model" data-state=${status.value} aria-expanded=${isOpen} aria-haspopup="true" onClick=${() => setOpen(!isOpen)}>
      <span class="dot" data-state=${status.value} aria-hidden="true"></span>
      ${known ? html`<span class="name" id="model-name">${known.id}</span>` : html`<span class="name">${word ?? status.value}</span>`}
      ${known && word && html`<span class="about">${word}</span>`}
      ${known && !word && html`<span class="about format">${known.format}</span><span class="about">${short(known.max_model_len)}</span>`}
      <${Icon} name="down" />
    </button>
    ${isOpen && html`<${Menu} onDone=${() => setOpen(false)} />`}
  </div>`;
}

/** @param {{onDone: () => void}} properties */
function Menu({ onDone }) {
  return html`<div class="menu">
    ${!models.value.length && html`<p>No model is on this disk.</p>`}
    ${models.value.map(
      (model) => html`<button type="button" class="row" key=${model.id} disabled=${model.loaded} onClick=${() => (change(model.id), onDone())}>
        <span class="name">${model.id}</span>
        <span class="about">${model.format}</span>
        ${model.loaded ? html`<span class="tag good">serving</span>` : html`<span class="link">Switch</span>`}
      </button>`,
    )}
    ${failure.value && html`<p role="alert">${failure.value}</p>`}
  </div>`;
}
