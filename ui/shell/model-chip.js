// Which model serves, in what state, and the change to another.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { change, course, failure, loaded, models, reload, status } from "../state/server.js";
import { Icon } from "./icons.js";

const WORDS = {
  "": "connecting", away: "no server", locked: "needs a key", failed: "failed", unloaded: "asleep",
  loading: "loading", switching: "switching",
};
/** In which the model is on its way: the dot turns. */
const BUSY = new Set(["loading", "switching"]);

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
    leave();
  };
  const leave = () => {
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  };
  const pick = async (/** @type {string} */ model) => {
    leave();
    await change(model);
    // Why not is said where it was asked for.
    if (failure.value) setOpen(true);
  };
  // One that sleeps is the one that the next message wakes.
  const known = loaded.value ?? (status.value === "unloaded" ? models.value[0] : undefined);
  const word = inWords();
  return html`<div class="chip" ref=${root} onKeyDown=${close}>
    <button type="button" id="model" data-state=${status.value} aria-expanded=${isOpen} aria-haspopup="true" title=${known?.id} onClick=${() => setOpen(!isOpen)}>
      <span class="dot" data-state=${status.value} aria-hidden="true"></span>
      ${known ? html`<span class="name" id="model-name">${known.id}</span>` : html`<span class="name">${word ?? status.value}</span>`}
      ${known && word && html`<span class="about">${word}</span>`}
      ${known && !word && html`<span class="about format">${known.format}</span><span class="about">${short(known.max_model_len)}</span>`}
      <${Icon} name="down" />
    </button>
    ${isOpen && html`<${Menu} onDone=${leave} onPick=${pick} />`}
  </div>`;
}

/** @param {{onDone: () => void, onPick: (model: string) => void}} properties */
function Menu({ onDone, onPick }) {
  const { reason } = course.value;
  const asleep = status.value === "unloaded" ? models.value[0] : undefined;
  return html`<div class="menu">
    ${status.value === "failed" && html`<div class="state" role="alert"><p class="bad">${reason ?? "The model failed."}</p>
      ${models.value.length > 0 && html`<button type="button" class="link" id="model-retry" onClick=${() => (reload(), onDone())}>Retry</button>`}
      <a class="link" href="#/server">Details</a></div>`}
    ${asleep && html`<p>Asleep: it wakes with your next message${asleep.load_estimate_seconds ? `, in about ${Math.ceil(asleep.load_estimate_seconds)} s` : ""}.</p>`}
    ${!models.value.length && html`<p>No model is on this disk.</p>`}
    ${models.value.map(
      (model) => html`<button type="button" class="row" key=${model.id} disabled=${model.loaded} onClick=${() => onPick(model.id)}>
        <span class="name">${model.id}</span>
        <span class="about">${model.format}</span>
        ${model.loaded ? html`<span class=${`tag ${status.value === "failed" ? "bad" : "good"}`}>${status.value === "failed" ? "failed" : "serving"}</span>` : html`<span class="link">Switch</span>`}
      </button>`,
    )}
    ${failure.value && html`<p role="alert">${failure.value}</p>`}
    <a class="row" href="#/server" onClick=${onDone}>More in Server</a>
  </div>`;
}

/** The state of the model where it is not simply there. */
function inWords() {
  const { switching, loading } = course.value;
  const isKnown = status.value in WORDS;
  if (!models.value.length && isKnown && !["", "away", "locked"].includes(status.value)) return "no model yet";
  const share = BUSY.has(status.value) && loading?.total_bytes ? ` ${Math.round((100 * loading.done_bytes) / loading.total_bytes)} %` : "";
  if (status.value === "switching" && switching) return `switching to ${switching.to}${share}`;
  return isKnown ? WORDS[/** @type {keyof typeof WORDS} */ (status.value)] + share : undefined;
}
