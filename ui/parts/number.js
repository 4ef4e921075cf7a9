// A box for a number: what is typed stays as it is typed until the box is left, and is then held to its range.

import { useState } from "../vendor/hooks.js";
import { html } from "./html.js";

/**
 * @param {{id: string, value: number | undefined, placeholder: string | number, onSet: (value: number | undefined) => void,
 *   range: {minimum?: number, maximum?: number, type?: string} | undefined}} properties undefined: no number is set
 */
export function NumberBox({ id, value, placeholder, range, onSet }) {
  // Drawn again for another reason, the box would else lose what is half typed.
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const take = (/** @type {any} */ event) => {
    const number = event.target.valueAsNumber;
    setTyped(null);
    if (Number.isNaN(number)) return onSet(undefined);
    const inside = Math.min(range?.maximum ?? Infinity, Math.max(range?.minimum ?? -Infinity, number));
    onSet(range?.type === "integer" ? Math.round(inside) : inside);
  };
  return html`<input id=${id} class=${`field number ${value === undefined ? "unset" : ""}`} type="number" step="any" min=${range?.minimum} max=${range?.maximum}
    placeholder=${placeholder} value=${typed ?? value ?? ""} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} onChange=${take} onBlur=${() => setTyped(null)} />`;
}
