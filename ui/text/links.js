// Which addresses become links, and what is said about where they go.

const ALLOWED = /^(https?:\/\/|mailto:|#)/i;

/** @param {string} href */
export function isAllowed(href) {
  return ALLOWED.test(href);
}

/** The host of an address; empty where it has none. @param {string} href */
export function hostOf(href) {
  try {
    return new URL(href).host;
  } catch {
    return "";
  }
}

/** What the reader has to know beside the text of a link; empty when the text does not mislead. @param {string} href @param {string} text */
export function warningFor(href, text) {
  if (!/^https?:/i.test(href)) return "";
  const host = hostOf(href);
  const claimed = hostOf(text.includes("://") ? text : /^[\w-]+(\.[\w-]+)+/.test(text) ? `https://${text}` : "");
  const isMisleading = (claimed && claimed !== host) || host.includes("xn--") || new URL(href).username !== "";
  return isMisleading ? host : "";
}
