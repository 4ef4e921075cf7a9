// How an answer ended, where that is not as it should, and the ways on from there.

import { lengthOf } from "../parts/format.js";
import { html } from "../parts/html.js";
import { respondent } from "../state/respondent.js";
import { sending } from "../state/session.js";
import { again, goOn, resume } from "../state/talk.js";

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Ending({ turn }) {
  const { failure, finish, usage, text, reasoning, request } = turn.record;
  const state = turn.state.value;
  const count = lengthOf(turn.record);
  const canGoOn = request !== null && (text || reasoning);
  const goes = canGoOn && html`<button type="button" class="link resume" onClick=${() => resume(turn)}>Resume exactly</button>`;
  const retry = html`<button type="button" class="link retry" onClick=${() => sending(() => again(turn))}>Retry</button>`;
  if (state === "FAILED") return html`<p class="ending bad" role="alert">${failure} ${goes} ${retry}</p>`;
  if (state === "CUT") return html`<p class="ending warn">Cut off after ${count}${failure ? `: ${failure}` : ""} ${goes} ${retry}</p>`;
  if (state === "STOPPED") return html`<p class="ending">Stopped by you after ${count} ${goes}</p>`;
  if (turn.isCatchingUp.value) return html`<p class="ending catching" role="status">Catching up</p>`;
  if (state !== "DONE" || finish !== "length") return null;
  const room = respondent.value?.max_model_len;
  // One that has no room for another token would be refused.
  if (usage && room && usage.prompt_tokens + usage.completion_tokens >= room) return html`<p class="ending">The context of ${room} tokens is full after ${count}</p>`;
  return html`<p class="ending">Reached the limit of ${count}
    ${request && html`<button type="button" class="link go-on" onClick=${() => goOn(turn, room)}>Continue</button>`} ${failure}</p>`;
}
