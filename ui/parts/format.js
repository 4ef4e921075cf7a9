// Numbers as people read them.

/** @param {number} value @param {number} [digits] after the point */
export function count(value, digits = 0) {
  if (!Number.isFinite(value)) return "–";
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Of memory and of files, as makers of both count: powers of 1,000. @param {number} value */
export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${value < 0 ? "−" : ""}${size.toFixed(unit < 3 || size >= 100 ? 0 : 1)} ${units[unit]}`;
}

/** How long something took: 5.9 ms, 0.21 s, 12 s. @param {number} seconds */
export function duration(seconds) {
  const [value, unit] = durationParts(seconds);
  return unit ? `${value} ${unit}` : value;
}

/** @param {number} seconds @returns {[string, string]} the number and its unit */
export function durationParts(seconds) {
  if (!Number.isFinite(seconds)) return ["–", ""];
  if (seconds === 0) return ["0", "s"];
  if (seconds < 0.1) return [(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0), "ms"];
  return [seconds.toFixed(seconds < 10 ? 2 : seconds < 100 ? 1 : 0), "s"];
}

/** One of several beside each other, in the unit of the longest. @param {number} seconds @param {number} most */
export function durationUpTo(seconds, most) {
  if (most < 1) return `${count(seconds * 1000, most < 0.01 ? 1 : 0)} ms`;
  return `${count(seconds, most < 10 ? 1 : 0)} s`;
}

/**
 * The numbers beside a chart, whose top is the last of them. A chart's words get no top: their second parameter is another.
 * @param {{words: (value: number) => string, axis?: (value: number, most: number) => string}} chart @param {number[]} values
 */
export function axisWords({ words, axis }, values) {
  return values.map((value) => (axis ? axis(value, values[values.length - 1]) : words(value)));
}

/** How long something has been, in its two largest units: 3 h 12 min. @param {number} seconds */
export function span(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const units = /** @type {const} */ ([[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]]);
  const first = units.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  const [size, unit] = units[first];
  const whole = Math.floor(seconds / size);
  const [below, name] = units[first + 1] ?? [1, ""];
  const rest = Math.floor((seconds - whole * size) / below);
  return name && rest ? `${whole} ${unit} ${rest} ${name}` : `${whole} ${unit}`;
}

/** How far an answer came. @param {{usage: any, text: string, reasoning: string}} record */
export function lengthOf({ usage, text, reasoning }) {
  if (usage) return `${usage.isCounted ? "about " : ""}${count(usage.completion_tokens)} tokens`;
  return text || !reasoning ? `${count(text.length)} characters` : `${count(reasoning.length)} characters of thinking`;
}

/** @param {number} seconds since 1970 */
export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

/** What its width depends on, as all figures are as wide as another: the key of a part that is another one where it would move. @param {string} value */
export function shapeOf(value) {
  return value.replace(/\d/g, "0");
}
