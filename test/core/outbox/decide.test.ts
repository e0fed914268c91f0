import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_BACKOFF, delayMs } from "../../../src/core/backoff.ts";
import { RetryLater, RETRY_LATER_MAX_MS } from "../../../src/core/errors.ts";
import {
  decide,
  decideBefore,
  EXHAUSTED,
  STILL_PRESENT,
  type Outcome,
  type Policy,
  type Tried,
} from "../../../src/core/outbox/decide.ts";
import type { Verification } from "../../../src/core/outbox/entry.ts";
import { settled } from "../../../src/core/outbox/machine.ts";

const MAX = 8;
const policy = (verifies?: Verification): Policy => ({ attemptMax: MAX, backoff: DEFAULT_BACKOFF, verifies });
const tried = (attempts: number, verification?: Verification): Tried => ({
  attempts,
  verification,
  lastError: undefined,
});

const OUTCOMES: readonly Outcome[] = [
  { kind: "done", already: false },
  { kind: "done", already: true },
  { kind: "expires", atMs: 1 },
  { kind: "absent" },
  { kind: "present" },
  { kind: "refused", label: "No" },
  { kind: "trouble", label: "Busy" },
];
const VERIFICATIONS = [undefined, "pending", "required"] as const;

describe("what a call means for its entry", () => {
  it.each(
    OUTCOMES.flatMap((outcome) =>
      VERIFICATIONS.flatMap((verification) =>
        [1, MAX - 1, MAX, MAX + 1].map((attempts) => [outcome, verification, attempts] as const),
      ),
    ),
  )("[K-15] %o while %s at attempt %i is decided as the rules say", (outcome, verification, attempts) => {
    const decision = decide(tried(attempts, verification), outcome, policy());
    const isLast = attempts >= MAX;
    const gone = verification === "pending" ? "succeed" : "abandon";
    const expected = {
      done: "succeed",
      absent: "succeed",
      expires: "park",
      present: verification === "required" ? (isLast ? "abandon" : "fail") : "succeed",
      refused: gone,
      trouble: isLast ? gone : "fail",
    }[outcome.kind];
    expect(decision.event).toBe(expected);
    expect(settled(decision.event)).toBeDefined();
  });

  it("[O-09] trouble below the budget waits as the schedule says, with its label", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX - 1 }), (attempts) => {
        expect(decide(tried(attempts), { kind: "trouble", label: "Busy" }, policy())).toEqual({
          event: "fail",
          error: "Busy",
          waitMs: delayMs(DEFAULT_BACKOFF, attempts),
        });
      }),
    );
  });

  it("[O-09] who asks for a longer wait gets it, within bounds, and never a shorter one", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: MAX - 1 }),
        fc.nat(2 * RETRY_LATER_MAX_MS),
        (attempts, afterMs) => {
          const thrown = new RetryLater("Busy", "busy", { afterMs });
          const decision = decide(tried(attempts), { kind: "trouble", label: "Busy", thrown }, policy());
          const scheduled = delayMs(DEFAULT_BACKOFF, attempts);
          expect(decision).toMatchObject({
            waitMs: Math.max(scheduled, Math.min(afterMs, RETRY_LATER_MAX_MS)),
          });
        },
      ),
    );
  });

  it("[K-07] [O-09] an entry past its budget is ended before another call, with what is known of it", () => {
    for (let attempts = 0; attempts <= MAX; attempts++)
      expect(decideBefore(tried(attempts), policy())).toBeUndefined();
    expect(decideBefore(tried(MAX + 1), policy())).toEqual({ event: "abandon", error: EXHAUSTED });
    expect(decideBefore({ ...tried(MAX + 1), lastError: "Busy" }, policy())).toEqual({
      event: "abandon",
      error: "Busy",
    });
    expect(decideBefore(tried(MAX + 1, "pending"), policy())).toEqual({
      event: "succeed",
      unverified: EXHAUSTED,
    });
  });

  it("[O-11] a horizon is waited for, and one backoff step at least; it never counts as a failure", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.integer(), (attempts, atMs) => {
        expect(decide(tried(attempts), { kind: "expires", atMs }, policy())).toEqual({
          event: "park",
          notBeforeMs: atMs,
          waitMs: DEFAULT_BACKOFF.baseMs,
        });
      }),
    );
  });

  it("[O-12] a success is verified where somebody can, and no verdict that is not required takes it back", () => {
    expect(decide(tried(1), { kind: "done", already: false }, policy("required"))).toEqual({
      event: "verify",
      verification: "required",
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(...OUTCOMES.slice(3)),
        (attempts, outcome) => {
          const decision = decide(tried(attempts, "pending"), outcome, policy("pending"));
          expect(["succeed", "fail"]).toContain(decision.event);
        },
      ),
    );
    expect(decide(tried(1, "pending"), { kind: "present" }, policy("pending"))).toEqual({
      event: "succeed",
      unverified: STILL_PRESENT,
    });
  });

  it("[K-02] the same entry and the same outcome always give the same decision", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.constantFrom(...OUTCOMES), (attempts, outcome) => {
        expect(decide(tried(attempts), outcome, policy())).toEqual(
          decide(tried(attempts), outcome, policy()),
        );
      }),
    );
  });
});
