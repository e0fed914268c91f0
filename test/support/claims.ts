/** Tokens are drawn: what a test can expect is how often a row was claimed. */
import { expect } from "vitest";
import { claimCount, claimToken } from "../../src/core/claim-token.ts";

/** Matches the token of a row's n-th claim, as a number or as the driver's text. */
export function nthClaim(count: number): unknown {
  return expect.toSatisfy((token: unknown) => claimCount(Number(token)) === count, `claim ${count}`);
}

/** A token of a first claim. */
export const FIRST_CLAIM: number = claimToken(1, 0);
