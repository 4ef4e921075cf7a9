// Which model serves, in what state, and the change to another.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";
import { patient } from "../parts/later.js";
import { missing, pinModel, pinnedModel, respondent } from "../state/respondent.js";
import { change, coming, course, failure, hasNoModel, loaded, models, reload, status } from "../state/server.js";
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

/** @param {{isOfChat?: boolean}} properties isOfChat: what is said in the open chat may go to another model than what serves */
export function ModelChip({ isOfChat = false }) {
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
  const serving = loaded.value ?? (status.value === "unloaded" ? models.value[0] : undefined);
  const pinned = isOfChat ? pinnedModel.value : "";
  const known = pinned ? respondent.value : serving;
  const isElsewhere = serving !== undefined && known?.id !== serving.id && !BUSY.has(status.value);
  const state = isElsewhere ? "unloaded" : status.value;
  useLook();
  const share = shareOfComing();
  const word = isElsewhere ? "not loaded" : share && hasNoModel.value ? `downloading ${share}` : inWords();
  return html`<div class="chip" ref=${root} onKeyDown=${close}>
    <button type="button" id="model" data-state=${state} aria-expanded=${isOpen} aria-haspopup="true" title=${known?.id} onClick=${() => setOpen(!isOpen)}>
      <span class="dot" data-state=${state} aria-hidden="true"></span>
      ${pinned && html`<${Icon} name="pin" /><span class="reader">This chat asks</span>`}
      ${known ? html`<span class="name" id="model-name">${known.id}</span>` : html`<span class="name">${word ?? status.value}</span>`}
      ${known && word && html`<span class="about">${word}</span>`}
      ${known && !word && html`<span class="about format">${known.format}</span><span class="about size">${short(known.max_model_len)}</span>`}
      ${known && share && html`<span class="about coming"><span class="reader">${coming.value?.model} is being fetched,</span><${Icon} name="download" />${share}</span>`}
      <${Icon} name="down" />
    </button>
    ${isOpen && html`<${Menu} isOfChat=${isOfChat} onDone=${leave} onPick=${pick} />`}
  </div>`;
}

/** @param {{isOfChat: boolean, onDone: () => void, onPick: (model: string) => void}} properties */
function Menu({ isOfChat, onDone, onPick }) {
  const { reason } = course.value;
  const pinned = isOfChat ? pinnedModel.value : "";
  const next = status.value === "unloaded" ? models.value[0] : undefined;
  const asleep = pinned && pinned !== next?.id ? undefined : next;
  return html`<div class="menu">
    ${pinned ? html`<p class="pinned">This chat asks ${pinned}${whereabouts(pinned)}. ${missing.value && html`<button type="button" class="link" id="load-pinned" onClick=${() => onPick(pinned)}>Load it</button> · `}<button type="button" class="link" id="unpin-model" onClick=${() => (pinModel(""), onDone())}>Unpin</button></p>` : null}
    ${status.value === "failed" && html`<div class="state" role="alert"><p class="bad">${reason ?? "The model failed."}</p>
      ${models.value.length > 0 && html`<button type="button" class="link" id="model-retry" onClick=${() => (reload(), onDone())}>Retry</button>`}
      <a class="link" href="#/server">Details</a></div>`}
    ${asleep && html`<p>Asleep: it wakes with your next message${asleep.load_estimate_seconds ? `, in about ${Math.ceil(asleep.load_estimate_seconds)} s` : ""}.</p>`}
    ${!models.value.length && html`<p>No model is on this disk.</p>`}
    <div>${models.value.map(
      (model) => html`<div class="pair" key=${model.id}><button type="button" class="row" disabled=${model.loaded} onClick=${() => onPick(model.id)}>
        <span class="name">${model.id}</span>
        <span class="about">${model.format}</span>
        ${model.loaded ? status.value === "away" ? null : html`<span class=${`tag ${status.value === "failed" ? "bad" : "good"}`}>${status.value === "failed" ? "failed" : "serving"}</span>` : html`<span class="link">Switch</span>`}
      </button>${isOfChat && html`<button type="button" class="icon-button pin" aria-pressed=${pinned === model.id} aria-label=${`Pin ${model.id} to this chat`}
        title=${pinned === model.id ? "Unpin" : "This chat always asks it"} onClick=${() => pinModel(pinned === model.id ? "" : model.id)}><${Icon} name="pin" /></button>`}</div>`,
    )}</div>
    ${coming.value && html`<a class="row" href="#/server" onClick=${onDone}><span class="name">${coming.value.model}</span><span class="about">downloading ${shareOfComing()}</span></a>`}
    ${failure.value && html`<p role="alert">${failure.value}</p>`}
    <a class="row" href="#/server" onClick=${onDone}>More in Server</a>
  </div>`;
}

/** Where the model is that a chat is pinned to, unless it serves. @param {string} pinned */
function whereabouts(pinned) {
  const model = models.value.find(({ id }) => id === pinned);
  if (!model) return ", which is not on this disk";
  if (missing.value) return ", which must be loaded first: this server loads none for a message";
  const { loaded: isLoaded, load_estimate_seconds: estimate } = model;
  return isLoaded ? "" : `: your next message loads it${estimate ? `, in about ${Math.ceil(estimate)} s` : ""}`;
}

/** Has what comes followed where no model is here: whatever it is, it is waited for. */
function useLook() {
  const isWanted = hasNoModel.value;
  useEffect(() => {
    if (!isWanted) return;
    let leave = () => {};
    let isOver = false;
    patient(() => import("../state/downloads.js")).then(({ look }) => isOver || (leave = look()));
    return () => {
      isOver = true;
      leave();
    };
  }, [isWanted]);
}

/** How far what is being fetched has come, in words; "" where nothing is. */
function shareOfComing() {
  return coming.value ? `${Math.floor((100 * coming.value.done_bytes) / coming.value.total_bytes)} %` : "";
}

/** The state of the model where it is not simply there. */
function inWords() {
  const { switching, loading } = course.value;
  const isKnown = status.value in WORDS;
  if (!models.value.length && isKnown && !["", "away", "locked"].includes(status.value)) return "no model yet";
  const share = loading?.total_bytes ? ` ${Math.round((100 * loading.done_bytes) / loading.total_bytes)} %` : "";
  const progress = BUSY.has(status.value) && loading ? `${share}, ${Math.floor(loading.seconds)} s` : "";
  if (status.value === "switching" && switching) return `switching to ${switching.to}${progress}`;
  return isKnown ? WORDS[/** @type {keyof typeof WORDS} */ (status.value)] + progress : undefined;
}
