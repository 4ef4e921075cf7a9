// The last samples of every series, one array of numbers each. A sample that failed is NaN in all of them.

import { readKey } from "../api/exposition.js";

/** @typedef {import("../api/exposition.js").Exposition} Exposition */

export class Ring {
  /** @type {Map<string, Float64Array>} */
  #values = new Map();
  #times;
  #restarts;
  #next = 0;
  /** @type {Map<string, (ring: Ring, index: number) => number>} */
  #derived = new Map();
  /** The bounds of a histogram's buckets, by its name. @type {Map<string, {bound: number, key: string}[]>} */
  #buckets = new Map();
  /** How many samples there are. */
  count = 0;
  /** @type {Map<string, import("../api/exposition.js").Family>} */
  families = new Map();

  /** @param {number} capacity */
  constructor(capacity) {
    this.capacity = capacity;
    this.#times = new Float64Array(capacity);
    this.#restarts = new Uint8Array(capacity);
  }

  // --- Actions

  /** @param {number} time seconds since 1970 @param {Exposition | null} exposition null: the scrape failed */
  add(time, exposition) {
    const at = this.#next;
    this.#times[at] = time;
    this.#restarts[at] = 0;
    this.#next = (at + 1) % this.capacity;
    this.count = Math.min(this.count + 1, this.capacity);
    if (exposition) {
      this.families = exposition.families;
      for (const key of exposition.values.keys()) if (!this.#values.has(key)) this.#open(key);
    }
    for (const [key, values] of this.#values) values[at] = exposition?.values.get(key) ?? NaN;
    // All counters of a process fall together: one that always counts tells for them all.
    if (exposition && this.#hasFallen()) this.#restarts[at] = 1;
    for (const [key, derive] of this.#derived) /** @type {Float64Array} */ (this.#values.get(key))[at] = derive(this, this.last);
  }

  /** Adds a series that is worked out at each sample out of the others, once. @param {string} key @param {(ring: Ring, index: number) => number} derive */
  derive(key, derive) {
    this.#open(key);
    this.#derived.set(key, derive);
  }

  /** The place of the last sample, -1 where there is none. */
  get last() {
    return this.count - 1;
  }

  /** @param {number} index 0 is the oldest there is */
  time(index) {
    return this.#times[this.#place(index)];
  }

  /** Whether the server was started anew since the sample before. @param {number} index */
  isRestart(index) {
    return this.#restarts[this.#place(index)] === 1;
  }

  /** @param {string} key @param {number} index @returns {number} NaN where it is not known */
  at(key, index) {
    return index < 0 ? NaN : (this.#values.get(key)?.[this.#place(index)] ?? NaN);
  }

  /** @param {string} key */
  has(key) {
    return this.#values.has(key);
  }

  /** Of what the server says, not of what is derived. @returns {string[]} */
  get keys() {
    return [...this.#values.keys()].filter((key) => !this.#derived.has(key));
  }

  /** Half-open: the places of the samples from one time to another, both in seconds. @param {number} from @param {number} to */
  range(from, to) {
    let start = 0;
    while (start < this.count && this.time(start) < from) start += 1;
    let stop = this.count;
    while (stop > start && this.time(stop - 1) > to) stop -= 1;
    return [start, stop];
  }

  /** By how much a counter grew between two samples, over restarts too. NaN: not known. @param {string} key @param {number} from @param {number} to */
  growth(key, from, to) {
    let sum = 0;
    let before = this.at(key, from);
    for (let index = from + 1; index <= to; index += 1) {
      const value = this.at(key, index);
      if (Number.isNaN(value)) continue;
      // After a restart a counter began at nothing.
      if (this.isRestart(index)) sum += value;
      else if (!Number.isNaN(before)) sum += value - before;
      before = value;
    }
    return Number.isNaN(before) ? NaN : sum;
  }

  /** What a counter grew by a second at one sample; NaN after a gap or a restart. @param {string} key @param {number} index */
  rate(key, index) {
    if (index < 1 || this.isRestart(index)) return NaN;
    return (this.at(key, index) - this.at(key, index - 1)) / (this.time(index) - this.time(index - 1));
  }

  /** How many observations fell into each bucket between two samples. @param {string} name @param {number} from @param {number} to */
  spread(name, from, to) {
    let below = 0;
    return (this.#buckets.get(name) ?? []).map(({ bound, key }) => {
      const sum = this.growth(key, from, to);
      const count = Math.max(0, sum - below);
      below = Math.max(below, sum);
      return { bound, count };
    });
  }

  // --- Internal

  /** @param {number} index */
  #place(index) {
    return (this.#next - this.count + index + this.capacity) % this.capacity;
  }

  /** @param {string} key */
  #open(key) {
    this.#values.set(key, new Float64Array(this.capacity).fill(NaN));
    const { name, labels } = readKey(key);
    if (!name.endsWith("_bucket") || labels.le === undefined) return;
    const histogram = name.slice(0, -"_bucket".length);
    const bound = labels.le === "+Inf" ? Infinity : Number(labels.le);
    const buckets = [...(this.#buckets.get(histogram) ?? []), { bound, key }];
    this.#buckets.set(histogram, buckets.sort((a, b) => a.bound - b.bound));
  }

  #hasFallen() {
    for (const key of this.#values.keys()) {
      if (!isCounted(key)) continue;
      const value = this.at(key, this.last);
      let before = this.last - 1;
      while (before >= 0 && Number.isNaN(this.at(key, before))) before -= 1;
      if (value < this.at(key, before)) return true;
    }
    return false;
  }
}

/** @param {string} key */
function isCounted(key) {
  const name = key.split("{", 1)[0];
  return name.endsWith("_total") || name.endsWith("_count");
}

/**
 * Interpolated in the bucket that it falls in, as Prometheus does; NaN where nothing was observed.
 * @param {{bound: number, count: number}[]} spread @param {number} share 0 to 1
 */
export function quantile(spread, share) {
  const total = spread.reduce((sum, { count }) => sum + count, 0);
  if (!(total > 0)) return NaN;
  let below = 0;
  let low = 0;
  for (const { bound, count } of spread) {
    if (below + count >= share * total && count > 0) {
      // Beyond the last bound nothing is known but that.
      return bound === Infinity ? low : low + ((bound - low) * (share * total - below)) / count;
    }
    below += count;
    if (bound !== Infinity) low = bound;
  }
  return low;
}
