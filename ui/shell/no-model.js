// Where nothing can answer yet: the way to a model.

import { html } from "../parts/html.js";
import { hasNoModel } from "../state/server.js";

export function NoModel() {
  if (!hasNoModel.value) return null;
  return html`<p class="ending warn no-model" role="status">No model is here yet. <a href="#/chat">Get one in Chat</a>, or see <a href="#/server">all of them in Server</a>.</p>`;
}
