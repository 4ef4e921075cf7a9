// Why a lane or a task asks nothing now.

import { heldProblem } from "./held.js";
import { problemIn } from "./range.js";
import { isMissing } from "./respondent.js";
import { hasNoModel } from "./server.js";

/** Why nothing can be asked with those values now; "" for nothing. @param {Record<string, any>} values */
export function obstacleTo(values) {
  if (hasNoModel.value) return "No model is here yet";
  return isMissing(values.model) ? `${values.model} must be loaded first` : problemIn(values) || heldProblem(values);
}
