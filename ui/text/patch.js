// Brings nodes that are shown to what they should be, touching as little as can be: a selection in them survives.

const NAMES = ["class", "href", "start", "role", "aria-label", "dir", "data-point"];

/**
 * What grows by itself, by its class: takes over what the wanted one has, and returns whether it could.
 * @type {Map<string, (shown: Element, wanted: Element) => boolean>}
 */
const takers = new Map();

/** @param {string} kind a class @param {(shown: Element, wanted: Element) => boolean} take */
export function patchBy(kind, take) {
  takers.set(kind, take);
}

/**
 * From child number first on.
 * @param {Node} shown @param {Node} wanted @param {number} [first]
 */
export function patchChildren(shown, wanted, first = 0) {
  /** @type {ChildNode | null} */
  let at = shown.childNodes[first] ?? null;
  let node = wanted.firstChild;
  while (node) {
    // It leaves the wanted tree where it is taken as it is.
    const next = node.nextSibling;
    if (!at) shown.appendChild(node);
    else {
      /** @type {ChildNode | null} */
      const follower = at.nextSibling;
      if (!patch(at, node)) shown.replaceChild(node, at);
      at = follower;
    }
    node = next;
  }
  while (at) {
    /** @type {ChildNode | null} */
    const next = at.nextSibling;
    shown.removeChild(at);
    at = next;
  }
}

/** Returns whether the shown node could become the wanted one. @param {Node} shown @param {Node} wanted */
export function patch(shown, wanted) {
  if (shown instanceof Text && wanted instanceof Text) {
    if (wanted.data.startsWith(shown.data)) {
      if (wanted.data.length > shown.data.length) shown.appendData(wanted.data.slice(shown.data.length));
    } else shown.data = wanted.data;
    return true;
  }
  if (!(shown instanceof Element) || !(wanted instanceof Element)) return false;
  if (shown.tagName !== wanted.tagName || NAMES.some((name) => shown.getAttribute(name) !== wanted.getAttribute(name))) return false;
  const take = takers.get(shown.classList[0]);
  if (take) return take(shown, wanted);
  patchChildren(shown, wanted);
  return true;
}
