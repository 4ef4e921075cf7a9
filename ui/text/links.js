// Which addresses become links, and what is said about where they go.

const ALLOWED = /^(https?:\/\/|mailto:|#)/i;

/** @param {string} href */
export function isAllowed(href) {
  return ALLOWED.test(href);
}

/** The host of an address; empty where it has none. @param {string} href */
export function hostOf(href) {
  return read(href)?.host ?? "";
}

/**
 * What the reader has to know beside the text of a link; empty when the text does not mislead.
 * @param {string} href @param {string} text
 */
export function warningFor(href, text) {
  const url = /^https?:/i.test(href) ? read(href) : null;
  if (!url) return "";
  const claimed = hostOf(addressIn(text));
  const isMisleading = (claimed && claimed !== url.host) || url.host.includes("xn--") || url.username !== "";
  return isMisleading ? url.host : "";
}

/** The address that a text names, wherever in it that is; without its scheme it has to begin the text. "" for none. @param {string} text */
function addressIn(text) {
  const whole = /https?:\/\/\S+/i.exec(text);
  if (whole) return whole[0].replace(/[.,;:!?)]+$/, "");
  const bare = /^\s*((?:[\p{L}\p{N}_-]+\.)+[\p{N}-]*\p{L}[\p{L}\p{N}-]+|\d+(?:\.\d+){3})(:\d+)?/u.exec(text);
  return bare ? `https://${bare[0].trim()}` : "";
}

/** null: it is no address, or only the beginning of one. @param {string} href */
function read(href) {
  try {
    return new URL(href);
  } catch {
    return null;
  }
}
