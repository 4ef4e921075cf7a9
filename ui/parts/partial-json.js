// A value of which only the beginning has come, as far as it goes.

/**
 * Returns the value so far, and whether the text is whole. A text that is no JSON has the value undefined.
 * @param {string} text
 * @returns {{value: unknown, isWhole: boolean}}
 */
export function readPartial(text) {
  try {
    return { value: JSON.parse(text), isWhole: true };
  } catch {
    const closed = closeOpen(text);
    try {
      return { value: closed === null ? undefined : JSON.parse(closed), isWhole: false };
    } catch {
      return { value: undefined, isWhole: false };
    }
  }
}

/** The text with all ended that is open in it; null: nothing of it can be read yet. @param {string} text */
function closeOpen(text) {
  /** @type {string[]} */
  const closers = [];
  // Where what has come so far could end as it is, and what would then close it.
  let last = /** @type {{length: number, closers: string} | null} */ (null);
  let isInString = false;
  const keep = (/** @type {number} */ length) => (last = { length, closers: closers.toReversed().join("") });
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "{" || character === "[") {
      closers.push(character === "{" ? "}" : "]");
      keep(at + 1);
    } else if (character === "}" || character === "]") {
      closers.pop();
      keep(at + 1);
    } else if (character === ",") keep(at);
  }
  const open = closers.toReversed().join("");
  const escaped = /\\(u[0-9a-f]{0,3})?$/i.exec(text);
  const whole = isInString ? `${escaped && isOdd(text) ? text.slice(0, escaped.index) : text}"` : text;
  if (!open && !isInString) return null;
  for (const candidate of [whole + open, `${whole}null${open}`]) if (isValue(candidate)) return candidate;
  return last && text.slice(0, last.length) + last.closers;
}

/** Whether the last backslash of the text begins an escape. @param {string} text */
function isOdd(text) {
  const run = /\\+(?=u[0-9a-f]{0,3}$|$)/i.exec(text);
  return run !== null && run[0].length % 2 === 1;
}

/** @param {string} text */
function isValue(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
