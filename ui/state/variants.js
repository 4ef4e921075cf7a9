// What "Vary…" makes of a few numbers: the values of each lane.

/** @typedef {Record<string, any>} Values */

/** So many seeds from that one on. @param {number} seed @param {number} count @returns {Values[]} */
export function seeds(seed, count) {
  return Array.from({ length: count }, (_, at) => ({ seed: seed + at }));
}

/**
 * So many values of a number from one to another, both among them, each as short as its steps allow and none twice.
 * @param {string} name @param {number} from @param {number} to @param {number} count @param {boolean} isWhole
 * @returns {Values[]}
 */
export function spread(name, from, to, count, isWhole) {
  const step = count > 1 ? (to - from) / (count - 1) : 0;
  const digits = isWhole ? 0 : 2;
  const all = Array.from({ length: count }, (_, at) => Number((from + at * step).toFixed(digits)));
  return [...new Set(all)].map((value) => ({ [name]: value }));
}

/** One of each. @param {string} name @param {unknown[]} all @returns {Values[]} */
export function each(name, all) {
  return all.map((value) => ({ [name]: value }));
}
