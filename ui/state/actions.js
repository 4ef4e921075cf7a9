// What can be done from the palette where the page stands: each view offers its own while it is shown.

import { computed, signal } from "../vendor/signals-core.js";

/** @typedef {{label: string, act: () => unknown, keys?: string, about?: string, words?: string}} Action words: by which it is found too */

const offers = signal(/** @type {Action[][]} */ ([]));
export const actions = computed(() => offers.value.flat());

/** Returns what withdraws them. @param {Action[]} offered */
export function offer(offered) {
  offers.value = [...offers.value, offered];
  return () => {
    offers.value = offers.value.filter((each) => each !== offered);
  };
}
