// A box for a number: what is typed stays as it is typed until the box is left, and what is outside of its range is said.

import { useState } from "../vendor/hooks.js";
import { count } from "./format.js";
import { html } from "./html.js";

/** @typedef {{minimum?: number, maximum?: number, type?: string}} Range */

/**
 * @param {{id: string, value: number | undefined, placeholder: string | number, onSet: (value: number | undefined) => void,
 *   range: Range | undefined}} properties undefined: no number is set
 */
export function NumberBox({ id, value, placeholder, range, onSet }) {
  // Drawn again for another reason, the box would else lose what is half typed.
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const said = typed === null ? rangeProblem(value, range) : "";
  const take = (/** @type {any} */ event) => {
    const number = event.target.valueAsNumber;
    setTyped(null);
    onSet(Number.isNaN(number) ? undefined : number);
  };
  return html`<input id=${id} class=${`field number ${value === undefined ? "unset" : ""}`} type="number" step="any" min=${range?.minimum} max=${range?.maximum}
      placeholder=${placeholder} value=${typed ?? value ?? ""} aria-invalid=${said ? "true" : undefined} aria-describedby=${said ? `${id}-problem` : undefined}
      onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} onChange=${take} onBlur=${() => setTyped(null)} />
    ${said && html`<span class="problem" id=${`${id}-problem`} role="alert">${said}</span>`}`;
}

/** What is wrong with a number, in words; "" for nothing. @param {number | undefined} value @param {Range | undefined} range */
export function rangeProblem(value, range) {
  if (value === undefined || !range) return "";
  const { minimum, maximum, type } = range;
  if (value < (minimum ?? -Infinity) || value > (maximum ?? Infinity)) return rangeWords(range);
  return type === "integer" && !Number.isInteger(value) ? "A whole number" : "";
}

/** @param {Range} range */
export function rangeWords({ minimum, maximum }) {
  const [low, high] = [minimum, maximum].map((each) => (each === undefined ? "" : count(each, decimals(each))));
  if (low && high) return `From ${low} to ${high}`;
  return low ? `${low} or more` : high ? `${high} or less` : "";
}

/** @param {number} value */
function decimals(value) {
  return Number.isInteger(value) ? 0 : 2;
}
