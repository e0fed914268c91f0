/** Before this release a reset of the write-ahead log could corrupt a database. */
const OLDEST: readonly number[] = [3, 51, 3];

export const OLDEST_TEXT: string = OLDEST.join(".");

export function isTooOld(version: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, least] of OLDEST.entries()) {
    const difference = (parts[index] ?? 0) - least;
    if (difference !== 0) return difference < 0;
  }
  return false;
}
