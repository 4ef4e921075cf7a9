// A configuration value as text and back, and what is wrong with a text before the server is asked.

/** @typedef {import("../api/config.js").Field} Field */
/** @typedef {import("../api/config.js").Value} Value */

const SUFFIXES = /** @type {const} */ ([["T", 1024 ** 4], ["G", 1024 ** 3], ["M", 1024 ** 2], ["K", 1024]]);
const NUMBERS = new Set(["integer", "number", "seconds", "size"]);

/** @param {Field} field @param {Value} value */
export function toText(field, value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return Object.entries(value).map(([name, path]) => `${name}=${path}`).join("; ");
  if (typeof value === "number" && (field.kind === "size" || field.kind === "pool_size")) {
    const [suffix, size] = SUFFIXES.find(([, size]) => value >= size && value % size === 0) ?? ["", 1];
    return `${value / size}${suffix}`;
  }
  return String(value);
}

/**
 * An empty text leaves the field to what is below it: a profile, the default.
 * @param {Field} field @param {string} text @returns {Value}
 */
export function fromText(field, text) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  if (field.kind === "bool") return trimmed === "true";
  if (field.kind === "paths") return pathsOf(trimmed);
  if (field.kind === "size" || field.kind === "pool_size") return sizeOf(trimmed) ?? trimmed;
  return NUMBERS.has(field.kind) && /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/**
 * What is wrong with it, in the words of the field's own rule; "": nothing that can be told here.
 * @param {Field} field @param {string} text
 */
export function problemOf(field, text) {
  const value = fromText(field, text);
  if (value === null) return "";
  if (NUMBERS.has(field.kind)) {
    const isNumber = typeof value === "number" && (field.kind !== "integer" || Number.isInteger(value));
    if (isNumber && value === 0 && field.zero !== null) return "";
    const isInside = isNumber && value >= (field.minimum ?? -Infinity) && value <= (field.maximum ?? Infinity);
    return isInside && (!field.multiple || value % field.multiple === 0) ? "" : `It takes ${field.rule}`;
  }
  if (field.choices && !field.choices.includes(String(value))) return `It takes ${field.rule}`;
  if (field.kind === "paths" && typeof value === "string") return `It takes ${field.rule}`;
  return "";
}

/** @param {Record<string, any>} body @param {string} key with dots @param {unknown} value */
export function place(body, key, value) {
  const names = key.split(".");
  const last = /** @type {string} */ (names.pop());
  let at = body;
  for (const name of names) at = at[name] ??= {};
  at[last] = value;
}

/** @param {Record<string, any>} config @param {Set<string>} known keys of fields: such a value is whole, whatever it is */
export function flatten(config, known) {
  const found = new Map();
  const walk = (/** @type {Record<string, any>} */ part, /** @type {string} */ before) => {
    for (const [name, value] of Object.entries(part)) {
      const key = before ? `${before}.${name}` : name;
      if (!known.has(key) && value !== null && typeof value === "object") walk(value, key);
      else found.set(key, value);
    }
  };
  walk(config, "");
  return found;
}

// --- Internal

/** @param {string} text */
function sizeOf(text) {
  const [, digits, suffix] = /^(\d+)\s*([KMGT]?)B?$/i.exec(text) ?? [];
  if (!digits) return null;
  const [, size] = SUFFIXES.find(([name]) => name === suffix.toUpperCase()) ?? ["", 1];
  return Number(digits) * size;
}

/** A text that is no list of them stays a text. @param {string} text */
function pathsOf(text) {
  /** @type {Record<string, string>} */
  const paths = Object.create(null);
  for (const part of text.split(";").map((each) => each.trim()).filter(Boolean)) {
    const at = part.indexOf("=");
    if (at < 1 || at === part.length - 1) return text;
    paths[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return paths;
}
