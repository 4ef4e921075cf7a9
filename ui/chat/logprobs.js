// Whether answers of this chat tell how sure the model was, and are shown so.

import { html } from "../parts/html.js";
import { set, settings } from "../state/settings.js";
import { lookAt } from "../state/tree.js";

export function Logprobs() {
  const isOn = settings.value.logprobs === true;
  return html`<section><h2><label for="logprobs">Alternatives of each token</label>
      <input type="checkbox" id="logprobs" role="switch" checked=${isOn} onChange=${flip} /></h2>
    <p class="about">${isOn ? "Answers from now on tell them. Hover a token, or walk with the arrow keys." : "Off: answers do not tell them."}</p>
  </section>`;
}

/** What the menu of an answer has of them: to show them, or where that can be had of the next one. @param {import("../state/turn.js").Turn} turn */
export function logprobsItem(turn) {
  if (turn.record.logprobs?.length) return { label: "Show logprobs", isChecked: settings.value.logprobs === true, act: flip };
  const lead = async () => {
    lookAt(turn);
    await (await import("../shell/commands.js")).toField("logprobs");
  };
  return { label: "Show logprobs", about: "it has none", act: lead };
}

function flip() {
  set({ logprobs: settings.value.logprobs === true ? undefined : true });
}
