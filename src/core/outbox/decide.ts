/**
 * The effect of one call on its entry. A transient failure is retried on the schedule until the attempts are used
 * up; a permanent failure abandons the entry. A horizon (an expiry date of the outside system) is not a failure,
 * however often it moves. After a successful call, a verification can only delay the end where it is required, and
 * never reverts the success.
 */
import { delayMs, type Backoff } from "../backoff.ts";
import { waitAfter } from "../errors.ts";
import type { Verification } from "./entry.ts";

/** The outcome of a call. `absent` and `present` answer a verification. */
export type Outcome =
  | { readonly kind: "done"; readonly already: boolean }
  | { readonly kind: "expires"; readonly atMs: number }
  | { readonly kind: "absent" }
  | { readonly kind: "present" }
  | { readonly kind: "refused"; readonly label: string; readonly thrown?: unknown }
  | { readonly kind: "trouble"; readonly label: string; readonly thrown?: unknown };

/** The state of the entry. Its attempts include the claim of this call. A call has no verification. */
export interface Tried {
  readonly attempts: number;
  readonly verification?: Verification | undefined;
  readonly lastError: string | undefined;
}

export interface Policy {
  readonly attemptMax: number;
  readonly backoff: Backoff;
  /** What remains to be done after a success of this entry. */
  readonly verifies: Verification | undefined;
}

export type Decision =
  | { readonly event: "succeed"; readonly unverified?: string }
  | { readonly event: "verify"; readonly verification: Verification }
  | { readonly event: "fail"; readonly error: string; readonly waitMs: number }
  | { readonly event: "park"; readonly notBeforeMs: number; readonly waitMs: number }
  | { readonly event: "abandon"; readonly error: string };

const SUCCEED: Decision = { event: "succeed" };

export const STILL_PRESENT = "StillPresent";
export const EXHAUSTED = "AttemptsExhausted";

export function decide(entry: Tried, outcome: Outcome, policy: Policy): Decision {
  switch (outcome.kind) {
    case "done":
      return policy.verifies === undefined ? SUCCEED : { event: "verify", verification: policy.verifies };
    case "absent":
      return SUCCEED;
    case "expires":
      return { event: "park", notBeforeMs: outcome.atMs, waitMs: delayMs(policy.backoff, 1) };
    case "present":
      return entry.verification === "required"
        ? tryAgain(entry, STILL_PRESENT, undefined, policy)
        : { event: "succeed", unverified: STILL_PRESENT };
    case "refused":
      return giveUp(entry, outcome.label);
    case "trouble":
  }
  return tryAgain(entry, outcome.label, outcome.thrown, policy);
}

/** Before a call: an entry that used up its attempts without an outcome lost its worker every time. */
export function decideBefore(entry: Tried, policy: Pick<Policy, "attemptMax">): Decision | undefined {
  return entry.attempts > policy.attemptMax ? giveUp(entry, entry.lastError ?? EXHAUSTED) : undefined;
}

function tryAgain(entry: Tried, error: string, thrown: unknown, policy: Policy): Decision {
  if (entry.attempts >= policy.attemptMax) return giveUp(entry, error);
  return { event: "fail", error, waitMs: waitAfter(thrown, delayMs(policy.backoff, entry.attempts)) };
}

function giveUp({ verification }: Tried, error: string): Decision {
  return verification === "pending" ? { event: "succeed", unverified: error } : { event: "abandon", error };
}
