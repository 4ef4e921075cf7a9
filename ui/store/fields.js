// An object of a file that comes from outside: every reading of it says where it failed, as people read it.

/** As large as a seed can be. */
export const MAX_SEED = 2 ** 64;
const ID = /^[\w-]{1,64}$/;

/** Says what is wrong with a file. */
export class Refused extends Error {}

export class Fields {
  value;
  place;

  /** @param {Record<string, any>} value @param {string} place */
  constructor(value, place) {
    this.value = value;
    this.place = place;
  }

  /** @param {string} name */
  has(name) {
    return Object.hasOwn(this.value, name) && this.value[name] !== undefined;
  }

  /** @param {string} name @param {string} [fallback] where it is not there at all @param {number} [most] letters */
  text(name, fallback, most = Infinity) {
    const value = this.has(name) ? this.value[name] : fallback;
    if (value?.length > most) this.#refuse(name, `text of at most ${most} letters`);
    return typeof value === "string" ? value : this.#refuse(name, "text");
  }

  /** @param {string} name */
  optionalText(name) {
    return this.value[name] == null ? null : this.text(name);
  }

  /** @param {string} name @param {number} [fallback] @param {number} [most] times in ms are dates up to there */
  number(name, fallback, most = 1e15) {
    const value = this.has(name) ? this.value[name] : fallback;
    return isWithin(value, most) ? value : this.#refuse(name, `a number up to ${most}`);
  }

  /** @param {string} name @param {number} [most] */
  optionalNumber(name, most) {
    return this.value[name] == null ? null : this.number(name, undefined, most);
  }

  /** @param {string} name */
  flag(name) {
    const value = this.value[name] ?? false;
    return typeof value === "boolean" ? value : this.#refuse(name, "true or false");
  }

  /** @param {string} name */
  id(name) {
    const value = this.value[name];
    return typeof value === "string" && ID.test(value) ? value : this.#refuse(name, "an id");
  }

  /** @param {string} name */
  optionalId(name) {
    return this.value[name] == null ? null : this.id(name);
  }

  /** @param {string} name @param {Set<string>} words */
  oneOf(name, words) {
    const value = this.value[name];
    return words.has(value) ? /** @type {any} */ (value) : this.#refuse(name, [...words].join(" or "));
  }

  /** As it is, if it is of that kind. @param {string} name @param {(value: any) => boolean} isSo @param {string} wanted the kind in words */
  ofKind(name, isSo, wanted) {
    return isSo(this.value[name]) ? this.value[name] : this.#refuse(name, wanted);
  }

  /** @param {string} name */
  inner(name) {
    return fieldsOf(this.value[name] ?? {}, `${this.place}.${name}`);
  }

  /** @param {string} name @returns {Fields[]} */
  list(name) {
    const value = this.value[name] ?? [];
    if (!Array.isArray(value)) return this.#refuse(name, "a list");
    return value.map((each, at) => fieldsOf(each, `${this.place}.${name}[${at}]`));
  }

  /** @param {string} name @param {string} wanted @returns {never} */
  #refuse(name, wanted) {
    throw new Refused(`${this.place}.${name} should be ${wanted}, and is ${shown(this.value[name]) ?? "missing"}.`);
  }
}

/** @param {unknown} value @param {string} place */
export function fieldsOf(value, place) {
  if (!isPlain(value)) throw new Refused(`${place} is no object.`);
  return new Fields(value, place);
}

/** @param {unknown} value @returns {value is Record<string, any>} */
export function isPlain(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value @param {number} most @returns {value is number} */
export function isWithin(value, most) {
  return typeof value === "number" && Math.abs(value) <= most;
}

/** @param {unknown} value */
export function shown(value) {
  return JSON.stringify(value)?.slice(0, 40);
}
