// How the answer of a lane ended, where that is not as it should, and the way on from there.

import { lengthOf } from "./format.js";
import { html } from "./html.js";
import { ELSEWHERE } from "./lane-words.js";
import { obstacleToResuming } from "../state/obstacle.js";

/** @param {{lane: import("../state/lane.js").Lane, isElsewhere: boolean, onResume: () => void}} properties isElsewhere: another tab runs lanes beside it */
export function LaneEnding({ lane, isElsewhere, onResume }) {
  const turn = lane.turn.value;
  if (!turn) return null;
  const { failure } = turn.record;
  const state = turn.state.value;
  if (turn.isCatchingUp.value) return html`<p class="ending catching" role="status">Catching up</p>`;
  if (lane.isRunning) return null;
  const obstacle = obstacleToResuming(lane) || (isElsewhere ? ELSEWHERE : "");
  const goes = lane.canResume && html`<button type="button" class="link resume" disabled=${obstacle !== ""} title=${obstacle} onClick=${onResume}>Resume exactly</button>`;
  const count = lengthOf(turn.record);
  if (state === "FAILED") return html`<p class="ending bad" role="alert">${failure} ${goes}</p>`;
  if (state === "CUT") return html`<p class="ending warn">Cut off after ${count}${failure ? `: ${failure}` : ""} ${goes}</p>`;
  if (state === "STOPPED" && goes) return html`<p class="ending">Stopped by you after ${count} ${goes}</p>`;
  return failure && html`<p class="ending bad" role="alert">${failure}</p>`;
}
