/** The known word that is nearest to an unknown one. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const given = word.toLowerCase().slice(0, LONGEST);
  const ranked = known
    .map((name) => ({ name, distance: name.startsWith(given) && given !== "" ? 0 : distance(given, name) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best && best.distance <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : undefined;
}

const LONGEST = 64;

/** Letters that must be added, taken away, changed or swapped with their neighbour. */
function distance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const at = (up: number, left: number): number =>
        (up === 0 ? row : rows[i - up])?.[j - left] ?? Infinity;
      const change = from[i - 1] === to[j - 1] ? 0 : 1;
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1] ? at(2, 2) + 1 : Infinity;
      row.push(Math.min(at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + change, swapped));
    }
    rows.push(row);
  }
  return rows[from.length]?.[to.length] ?? Infinity;
}
