// A selection stays on its words when the nodes that they stand in are exchanged.

/** Runs work, which changes nodes of an element and not its text. @param {Node} element @param {() => void} work */
export function keepingSelection(element, work) {
  const selection = getSelection();
  const anchor = selection && offsetOf(element, selection.anchorNode, selection.anchorOffset);
  const focus = selection && offsetOf(element, selection.focusNode, selection.focusOffset);
  const ends = selection && { node: selection.anchorNode, offset: selection.anchorOffset, last: selection.focusNode, lastOffset: selection.focusOffset };
  work();
  if (!ends || (anchor === null && focus === null)) return;
  const from = anchor === null ? { node: ends.node, offset: ends.offset } : placeOf(element, anchor);
  const to = focus === null ? { node: ends.last, offset: ends.lastOffset } : placeOf(element, focus);
  if (from?.node && to?.node) selection.setBaseAndExtent(from.node, from.offset, to.node, to.offset);
}

/** How much text of the element is before a place; null: it is not in it. @param {Node} element @param {Node | null} node @param {number} offset */
function offsetOf(element, node, offset) {
  if (!node || !element.contains(node)) return null;
  const range = document.createRange();
  range.setStart(element, 0);
  range.setEnd(node, offset);
  return range.toString().length;
}

/** @param {Node} element @param {number} offset */
function placeOf(element, offset) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let left = offset;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { length } = /** @type {Text} */ (node);
    if (left <= length) return { node, offset: left };
    left -= length;
  }
  return null;
}
