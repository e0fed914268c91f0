/**
 * How often a race is run. `npm test` runs as many rounds as show a bug for certain: without the lock that a race is about, a
 * tenth of the rounds fail or more. `npm run races` looks for rarer ones.
 */
const isLong = process.env["AMENDS_ROUNDS"] === "many";

export function rounds(gate: number, many: number): number {
  return isLong ? many : gate;
}

/** Enough time for so many, on a busy machine. */
export const RACE_MS: number = isLong ? 1_200_000 : 120_000;
