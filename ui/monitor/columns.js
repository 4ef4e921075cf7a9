// What a chart draws: the times, and a column of numbers for each of its lines.

/**
 * Nothing stands where nothing is known: a line over it would say what nobody measured.
 * @param {import("../state/ring.js").Ring} ring @param {import("./chart.js").Line[]} lines @param {number} start @param {number} stop half-open
 */
export function columnsOf(ring, lines, start, stop) {
  /** @type {(number | null)[][]} */
  const columns = [[], ...lines.map(() => [])];
  for (let index = start; index < stop; index += 1) {
    columns[0].push(ring.time(index));
    for (const [at, line] of lines.entries()) {
      const value = (line.draw ?? line.read)(index);
      columns[at + 1].push(Number.isFinite(value) ? value : null);
    }
  }
  return columns;
}
