/**
 * What names one claim of a row, for ever: how often the row was claimed, and a number that was drawn for this claim. The
 * count alone is not enough: a database that has gone back in time (a failover that lost commits, a restore) counts the
 * same number again, and two workers would hold the same claim. Later claims have greater tokens.
 */
const DRAWS = 2 ** 32;

/** The token of the n-th claim of a row. `draw` is a whole number below 2^32. */
export function claimToken(count: number, draw: number): number {
  return count * DRAWS + draw;
}

/** How often the row had been claimed with this claim: 0 for a row that nobody has claimed. */
export function claimCount(token: number): number {
  return Math.floor(token / DRAWS);
}

/** The claim with which a row begins that its writer takes at once, where no other row can ever have the same id. */
export const FIRST_CLAIM: number = claimToken(1, 0);

/** Of two claims the later one. Between two that have the same count, the first one given. */
export function laterClaim(a: number, b: number): number {
  return claimCount(b) > claimCount(a) ? b : a;
}
