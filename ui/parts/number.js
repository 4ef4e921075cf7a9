// A box for a number: what is typed stays as it is typed until the box is left, and what is outside of its range is said.

import { useState } from "../vendor/hooks.js";
import { rangeProblem } from "../state/range.js";
import { html } from "./html.js";

// A browser's own box for numbers makes 15 of 1,5 and nothing of abc, and says nothing of either.
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/**
 * @param {{id: string, value: any, placeholder: string | number, onSet: (value: any) => void,
 *   range: import("../state/range.js").Range | undefined, isDisabled?: boolean}} properties value: undefined while none is set, a text where what was typed is no number
 */
export function NumberBox({ id, value, placeholder, range, isDisabled = false, onSet }) {
  // Drawn again for another reason, the box would else lose what is half typed.
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const said = typed === null ? rangeProblem(value, range) : "";
  const take = (/** @type {any} */ event) => {
    setTyped(null);
    onSet(numberIn(event.target.value));
  };
  // The keys that a phone has for decimals have no minus.
  return html`<input id=${id} class=${`field number ${value === undefined ? "unset" : ""}`} inputmode=${(range?.minimum ?? 0) < 0 ? "text" : "decimal"} autocomplete="off" min=${range?.minimum ?? range?.above} max=${range?.maximum}
      placeholder=${placeholder} value=${typed ?? value ?? ""} disabled=${isDisabled} aria-invalid=${said ? "true" : undefined} aria-describedby=${said ? `${id}-problem` : undefined}
      onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} onChange=${take} onBlur=${() => setTyped(null)} />
    ${said && html`<span class="problem" id=${`${id}-problem`} role="alert">${said}</span>`}`;
}

/** What a text of the box stands for. @param {string} typed */
export function numberIn(typed) {
  const text = typed.trim();
  return text === "" ? undefined : NUMBER.test(text) ? Number(text) : text;
}
