// So many at once and no more; the others wait in their order.

/** So many lanes the server has for one person at the most, and so many ask at once. */
export const MAX_LANES = 8;
/** Where a run begins: without a cap each lane is given room for a whole context, and few of eight run at once. */
export const FIRST_CAP = 1024;

export class Slots {
  #numFree;
  /** @type {(() => void)[]} */
  #line = [];

  /** @param {number} count */
  constructor(count) {
    this.#numFree = count;
  }

  /** Does the work once there is a slot for it. @template T @param {() => Promise<T>} work */
  async use(work) {
    if (this.#numFree > 0) this.#numFree -= 1;
    else await new Promise((resolve) => this.#line.push(() => resolve(undefined)));
    try {
      return await work();
    } finally {
      // The slot goes from hand to hand, so that nobody who comes between takes it.
      const next = this.#line.shift();
      if (next) next();
      else this.#numFree += 1;
    }
  }
}
