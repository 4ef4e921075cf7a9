// How an answer ended, where that is not as it should, and the ways on from there.

import { lengthOf } from "../parts/format.js";
import { html } from "../parts/html.js";
import { respondent } from "../state/respondent.js";
import { sending } from "../state/session.js";
import { again, goOn, resume } from "../state/talk.js";

/** @param {{turn: import("../state/turn.js").Turn}} properties */
export function Ending({ turn }) {
  const { failure, finish } = turn.record;
  const state = turn.state.value;
  const count = lengthOf(turn.record);
  const way = wayOn(turn);
  const goes = way && html`<button type="button" class=${`link ${way.kind}`} onClick=${way.act}>${way.label}</button>`;
  const retry = html`<button type="button" class="link retry" onClick=${() => sending(() => again(turn))}>Retry</button>`;
  if (state === "FAILED") return html`<p class="ending bad" role="alert">${failure} ${goes} ${retry}</p>`;
  if (state === "CUT") return html`<p class="ending warn">Cut off after ${count}${failure ? `: ${failure}` : ""} ${goes} ${retry}</p>`;
  if (state === "STOPPED") return html`<p class="ending">Stopped by you after ${count} ${goes}</p>`;
  if (turn.isCatchingUp.value) return html`<p class="ending catching" role="status">Catching up</p>`;
  if (state !== "DONE" || finish !== "length") return null;
  if (isFull(turn)) return html`<p class="ending">The context of ${respondent.value?.max_model_len} tokens is full after ${count}</p>`;
  return html`<p class="ending">Reached the limit of ${count} ${goes} ${failure}</p>`;
}

/** What goes on with an answer that was cut off or reached its limit; null: nothing. @param {import("../state/turn.js").Turn} turn */
export function wayOn(turn) {
  const { finish, text, reasoning, request } = turn.record;
  const state = turn.state.value;
  if (!request) return null;
  if (state === "DONE") return finish === "length" && !isFull(turn) ? { kind: "go-on", label: "Continue", act: () => sending(() => goOn(turn, respondent.value?.max_model_len)) } : null;
  const isCut = state === "FAILED" || state === "CUT" || state === "STOPPED";
  return isCut && (text || reasoning) ? { kind: "resume", label: "Resume exactly", act: () => sending(() => resume(turn)) } : null;
}

/** Whether the context has no room for another token: it would be refused. @param {import("../state/turn.js").Turn} turn */
function isFull({ record: { usage } }) {
  const room = respondent.value?.max_model_len;
  return Boolean(usage && room && usage.prompt_tokens + usage.completion_tokens >= room);
}
