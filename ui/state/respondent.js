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

/** The model of the open chat, where no message of it is answered before that is loaded; "" where one is, or has it loaded. */
export const missing = computed(() => {
  const pinned = pinnedModel.value;
  const isHere = models.value.some(({ id }) => id === pinned);
  return isHere && !canChoose.value && pinned !== (course.value.switching?.to ?? answering.value?.id) ? pinned : "";
});

/** From now on requests of the open chat name that model; "" names none. @param {string} model */
export function pinModel(model) {
  return change({ settings: { ...open.value.settings, model: model || undefined } });
}
