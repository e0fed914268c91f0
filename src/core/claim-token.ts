/**
 * The fencing token of a claim: the number of claims of the row, and a random number for this claim. The count
 * alone is not enough: a database that lost commits (a failover, a restore) counts the same number again, and two
 * workers would hold the same claim. Later claims have greater tokens.
 */
const DRAWS = 2 ** 32;

/** The token of the n-th claim of a row. `draw` is a whole number below 2^32. */
export function claimToken(count: number, draw: number): number {
  return count * DRAWS + draw;
}

/** The number of claims of the row, this one included: 0 for a row that was never claimed. */
export function claimCount(token: number): number {
  return Math.floor(token / DRAWS);
}

/** The later of two claims. If both have the same count, the first argument. */
export function laterClaim(a: number, b: number): number {
  return claimCount(b) > claimCount(a) ? b : a;
}
