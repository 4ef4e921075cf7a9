// What else a request can say: seldom set, and folded until one is.

import { FurtherFields } from "../parts/further-fields.js";
import { html } from "../parts/html.js";
import { FURTHER } from "../state/offered.js";
import { setSampling, settings } from "../state/settings.js";

export function Further() {
  const sampling = settings.value.sampling ?? {};
  const numSet = FURTHER.filter(({ name }) => sampling[name] !== undefined).length;
  return html`<section><details class="further" id="further"><summary>More fields ${numSet > 0 && html`<span class="about">${numSet} set</span>`}</summary>
    <${FurtherFields} prefix="set" values=${sampling} none="Default" onSet=${setSampling} />
  </details></section>`;
}
