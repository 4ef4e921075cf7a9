// An answer as the tokens that were drawn: how sure each was, and what else it could have been.

import { useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../parts/html.js";

/** @typedef {import("../store/turns.js").TokenChoice} TokenChoice */

const SURE = 0.9;
const LIKELY = 0.5;
const CARD_WIDTH_PX = 224;

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Tokens({ turn }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [shown, setShown] = useState(/** @type {{at: number, left: number, top: number} | null} */ (null));
  const tokens = turn.record.logprobs ?? [];
  useLayoutEffect(() => {
    const spans = tokens.map(([token, logprob], index) => spanOf(token, logprob, index === 0));
    place.current?.replaceChildren(...spans);
  }, [turn, tokens.length]);
  const show = (/** @type {EventTarget | null} */ target) => {
    const { current } = place;
    if (!(target instanceof HTMLElement) || !current || target.parentNode !== current) return;
    const at = [...current.children].indexOf(target);
    const left = Math.max(0, Math.min(target.offsetLeft, current.clientWidth - CARD_WIDTH_PX));
    setShown({ at, left, top: target.offsetTop + target.offsetHeight + 4 });
  };
  const walk = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape" && shown) {
      event.stopPropagation();
      return setShown(null);
    }
    const all = place.current?.children ?? [];
    const at = [...all].indexOf(/** @type {Element} */ (event.target));
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || to === undefined || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = /** @type {HTMLElement | undefined} */ (all[to]);
    if (!next) return;
    /** @type {HTMLElement} */ (all[at]).tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };
  return html`<div class="tokens" dir="auto" onKeyDown=${walk} onMouseLeave=${() => setShown(null)}>
    <div class="drawn" ref=${place} role="listbox" aria-label="Tokens" aria-orientation="horizontal"
      onMouseOver=${(/** @type {Event} */ event) => show(event.target)} onFocusIn=${(/** @type {Event} */ event) => show(event.target)} onFocusOut=${() => setShown(null)}></div>
    ${shown && tokens[shown.at] && html`<${Card} token=${tokens[shown.at]} left=${shown.left} top=${shown.top} />`}
  </div>`;
}

/** @param {{token: TokenChoice, left: number, top: number}} properties */
function Card({ token: [token, logprob, others], left, top }) {
  const rows = others.some(([other]) => other === token) ? others : [[token, logprob], ...others];
  return html`<table class="choices" style=${{ left: `${left}px`, top: `${top}px` }}><caption class="reader">What could have stood there</caption><tbody>
    ${rows.map(([other, value]) => html`<tr key=${other} class=${other === token ? "drawn" : ""}>
      <th scope="row">${visible(String(other))}</th><td><span class="share" aria-hidden="true"><span style=${{ width: `${100 * Math.exp(Number(value))}%` }}></span></span></td><td>${percent(Number(value))}</td></tr>`)}
  </tbody></table>`;
}

/** @param {string} token @param {number} logprob @param {boolean} isFirst */
function spanOf(token, logprob, isFirst) {
  const span = document.createElement("span");
  const chance = Math.exp(logprob);
  span.className = chance >= SURE ? "sure" : chance >= LIKELY ? "likely" : "unsure";
  span.textContent = token;
  span.tabIndex = isFirst ? 0 : -1;
  span.setAttribute("role", "option");
  span.setAttribute("aria-selected", "false");
  span.setAttribute("aria-label", `${visible(token)}, ${percent(logprob)}`);
  return span;
}

/** @param {number} logprob */
function percent(logprob) {
  const share = 100 * Math.exp(logprob);
  return share > 0 && share < 0.1 ? "< 0.1 %" : `${share.toFixed(1)} %`;
}

/** Spaces and line ends, which else could not be told apart. @param {string} token */
function visible(token) {
  return token.replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll(" ", "␣") || "nothing";
}
