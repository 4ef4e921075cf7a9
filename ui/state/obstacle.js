// Why a lane or a task asks nothing now.

import { heldProblem, problem } from "./held.js";
import { problemIn } from "./range.js";
import { isMissing, requestOfSame } from "./respondent.js";
import { hasNoModel } from "./server.js";

/** Why nothing can be asked with those values now; "" for nothing. @param {Record<string, any>} values */
export function obstacleTo(values) {
  if (hasNoModel.value) return "No model is here yet";
  return isMissing(values.model) ? `${values.model} must be loaded first` : problemIn(values) || heldProblem(values);
}

/** Why its answer cannot go on now; "" for nothing. It goes on with the model that gave it. @param {import("./lane.js").Lane} lane */
export function obstacleToResuming({ turn: { value: turn } }) {
  if (!turn?.record.request) return "";
  const obstacle = problem(() => requestOfSame(turn.record)).replace(/\.$/, "");
  return obstacle || obstacleTo(requestOfSame(turn.record));
}
