// Brings nodes that are shown to what they should be, touching as little as can be: a selection in them survives.

/** @param {Node} shown @param {Node} wanted */
export function patchChildren(shown, wanted) {
  const old = [...shown.childNodes];
  const now = [...wanted.childNodes];
  now.forEach((node, index) => {
    if (index >= old.length) shown.appendChild(node);
    else if (!patch(old[index], node)) shown.replaceChild(node, old[index]);
  });
  for (const extra of old.slice(now.length)) shown.removeChild(extra);
}

/** Returns whether the shown node could become the wanted one. @param {Node} shown @param {Node} wanted */
function patch(shown, wanted) {
  if (shown instanceof Text && wanted instanceof Text) {
    if (wanted.data.startsWith(shown.data)) {
      if (wanted.data.length > shown.data.length) shown.appendData(wanted.data.slice(shown.data.length));
    } else shown.data = wanted.data;
    return true;
  }
  if (!(shown instanceof Element) || !(wanted instanceof Element) || !isAlike(shown, wanted)) return false;
  patchChildren(shown, wanted);
  return true;
}

/** @param {Element} one @param {Element} other */
function isAlike(one, other) {
  const names = ["class", "href", "start", "role", "aria-label"];
  // What has listeners or grows by itself is exchanged whole.
  const isOwn = one.tagName === "FIGURE" || one.classList.contains("formula");
  return one.tagName === other.tagName && !isOwn && names.every((name) => one.getAttribute(name) === other.getAttribute(name));
}
