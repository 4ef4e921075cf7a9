// How tokens are drawn. What is not set is not sent, and shows the model's own value.

import { html } from "../parts/html.js";
import { Parameter } from "../parts/parameter.js";
import { OFFERED } from "../state/offered.js";
import { respondent } from "../state/respondent.js";
import { fields } from "../state/server.js";
import { numSet, resetSampling, setSampling, settings } from "../state/settings.js";

export function Sampling() {
  return html`<section>
    <h2>Sampling ${numSet.value > 0 && html`<button type="button" class="link" onClick=${resetSampling}>Reset ${numSet.value}</button>`}</h2>
    ${OFFERED.map(
      ({ name, ...about }) => html`<${Parameter} key=${name} id=${`set-${name}`} ...${about} value=${settings.value.sampling?.[name]} own=${respondent.value?.defaults?.[name]}
        ownWord=${name === "seed" ? "new each turn" : "model’s"} range=${fields.value.get(name)} onSet=${(/** @type {number | undefined} */ value) => setSampling(name, value)} />`,
    )}
  </section>`;
}
