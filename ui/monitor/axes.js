// Where the axes of a chart have their marks, and what stands at them.

import { clock } from "../parts/format.js";
import { chosen, minutes, shown } from "../state/samples.js";

/** The top of a scale that is no odd number, so that its thirds are none. @param {number} most */
export function roof(most) {
  if (!(most > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(most));
  return [1.2, 1.5, 3, 6, 9, 12].map((step) => step * size).find((step) => step >= most * 0.999) ?? 12 * size;
}

/** @param {number} from @param {number} to */
export function instants(from, to) {
  // Whole minutes, whether five, fifteen or sixty are shown.
  const parts = !chosen.value && minutes.value % 3 ? 5 : 3;
  return [...Array(parts + 1)].map((_, at) => from + ((to - from) * at) / parts);
}

/** @param {number} time */
export function instantWords(time) {
  if (chosen.value) return clock(time);
  const { from, to } = shown.value;
  const ago = Math.round((to - time) / 60);
  return ago < 1 ? "now" : Math.abs(time - from) < 1 ? `−${ago} min` : `−${ago}`;
}
