// A box for a number: what is typed stays as it is typed until the box is left, and what is outside of its range is said.

import { useState } from "../vendor/hooks.js";
import { rangeProblem } from "../state/range.js";
import { html } from "./html.js";

/**
 * @param {{id: string, value: number | undefined, placeholder: string | number, onSet: (value: number | undefined) => void,
 *   range: import("../state/range.js").Range | undefined}} properties undefined: no number is set
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
  return html`<input id=${id} class=${`field number ${value === undefined ? "unset" : ""}`} type="number" step="any" min=${range?.minimum ?? range?.above} max=${range?.maximum}
      placeholder=${placeholder} value=${typed ?? value ?? ""} aria-invalid=${said ? "true" : undefined} aria-describedby=${said ? `${id}-problem` : undefined}
      onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} onChange=${take} onBlur=${() => setTyped(null)} />
    ${said && html`<span class="problem" id=${`${id}-problem`} role="alert">${said}</span>`}`;
}
