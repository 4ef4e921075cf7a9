// Who answers in the open chat: the model that it is pinned to, else what serves.

import { computed } from "../vendor/signals-core.js";
import { change, open } from "./chats.js";
import { answering, canChoose, course, models } from "./server.js";

/** The model that its requests name; "" where they name none. */
export const pinnedModel = computed(() => /** @type {string} */ (open.value.settings.model ?? ""));
/** What its next message goes to, with as much as the server knows of it. */
export const respondent = computed(() =>
  pinnedModel.value ? (models.value.find(({ id }) => id === pinnedModel.value) ?? { id: pinnedModel.value, loaded: false }) : answering.value,
);

/** Whether that model counts tokens too: a count has none loaded, so what serves counts for one that is not, and about. */
export const isCounting = computed(() => respondent.value?.id === answering.value?.id);

/** The one that is answered for, where no message has another one loaded. */
export const only = computed(() => (canChoose.value ? undefined : (course.value.switching?.to ?? answering.value?.id)));
/** The model of the open chat, where no message of it is answered before that is loaded; "" where one is, or has it loaded. */
export const missing = computed(() => (isMissing(pinnedModel.value) ? pinnedModel.value : ""));

/** Whether a message to that model would be refused until it is loaded. @param {string} [model] */
export function isMissing(model) {
  return !canChoose.value && model !== only.value && models.value.some(({ id }) => id === model);
}

/**
 * The request of an answer for the model that gave it, whatever serves by now. Raises a SyntaxError where that is not
 * here any more.
 * @param {import("../store/turns.js").TurnRecord} record
 */
export function requestOfSame({ request, model }) {
  if (request.model || !model || model === answering.value?.id) return request;
  if (models.value.length && !models.value.some(({ id }) => id === model)) throw new SyntaxError(`${model}, which gave this answer, is not here any more.`);
  return { ...request, model };
}

/** From now on requests of the open chat name that model; "" names none. @param {string} model */
export function pinModel(model) {
  return change({ settings: { ...open.value.settings, model: model || undefined } });
}
