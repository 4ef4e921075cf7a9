// Whether answers of this chat tell how sure the model was, and are shown so.

import { html } from "../parts/html.js";
import { set, settings } from "../state/settings.js";

export function Logprobs() {
  const isOn = settings.value.logprobs === true;
  return html`<section><h2><label for="logprobs">Alternatives of each token</label>
      <input type="checkbox" id="logprobs" role="switch" checked=${isOn} onChange=${() => set({ logprobs: isOn ? undefined : true })} /></h2>
    <p class="about">${isOn ? "Answers from now on tell them. Hover a token, or walk with the arrow keys." : "Off: answers do not tell them."}</p>
  </section>`;
}
