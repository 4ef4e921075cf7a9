// What of many named things is meant by some words.

/** Those that have all the words, the ones whose name begins with them first. @template {{label: string, about?: string, words?: string}} Item @param {{name: string, items: Item[]}[]} all @param {string} wanted @param {number} limit each group's @returns {{name: string, items: Item[]}[]} */
export function matching(all, wanted, limit) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (/** @type {Item} */ { label }) => {
    const name = label.toLowerCase();
    return !words.length || name.startsWith(words[0]) ? 0 : name.includes(words[0]) ? 1 : 2;
  };
  const isMeant = (/** @type {Item} */ { label, about = "", words: more = "" }) => {
    const text = `${label} ${about} ${more}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const found = all.map(({ name, items }) => ({ name, items: items.filter(isMeant).sort((one, other) => rank(one) - rank(other)).slice(0, limit) }));
  const isBest = (/** @type {{items: Item[]}} */ { items }) => rank(items[0]);
  const some = found.filter(({ items }) => items.length);
  return words.length ? some.sort((one, other) => isBest(one) - isBest(other)) : some;
}
