import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkBackoff,
  checkLease,
  DEFAULT_BACKOFF,
  DEFAULT_LEASE_MS,
  delayMs,
  spread,
  type Backoff,
} from "../../src/core/backoff.ts";
import { AmendsError } from "../../src/core/errors.ts";

const policies = fc
  .record({ baseMs: fc.integer({ min: 1, max: 100_000 }), more: fc.integer({ min: 0, max: 10_000_000 }) })
  .map(({ baseMs, more }): Backoff => ({ baseMs, capMs: baseMs + more, factor: 2 }));
const attempts = fc.integer({ min: 1, max: 5_000 });

function codeOf(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return error instanceof AmendsError ? error.code : String(error);
  }
  return undefined;
}

describe("the schedule", () => {
  it("[K-01] begins at 30 seconds, doubles, and ends at one hour", () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100].map((attempt) => delayMs(DEFAULT_BACKOFF, attempt));
    const seconds = [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600];
    expect(delays).toEqual(seconds.map((one) => one * 1_000));
    expect(DEFAULT_LEASE_MS).toBe(300_000);
  });

  it("[K-01] is min(base · 2^(n−1), cap) for every policy and every attempt", () => {
    fc.assert(
      fc.property(policies, attempts, (policy, attempt) => {
        // Doubling by hand: no power, no infinity.
        let expected = policy.baseMs;
        for (let n = 1; n < attempt && expected < policy.capMs; n++) expected *= 2;
        expect(delayMs(policy, attempt)).toBe(Math.min(expected, policy.capMs));
      }),
    );
  });

  it("[K-01] never shrinks from one attempt to the next, and never leaves its bounds", () => {
    fc.assert(
      fc.property(policies, attempts, (policy, attempt) => {
        const delay = delayMs(policy, attempt);
        expect(delay).toBeGreaterThanOrEqual(policy.baseMs);
        expect(delay).toBeLessThanOrEqual(policy.capMs);
        expect(delayMs(policy, attempt + 1)).toBeGreaterThanOrEqual(delay);
      }),
    );
  });

  it("[K-01] is still the cap where the power has left the numbers behind", () => {
    for (const attempt of [1_024, 1_100, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
      expect(delayMs(DEFAULT_BACKOFF, attempt)).toBe(3_600_000);
    }
  });

  it.each([0, -1, 1.5, NaN, Infinity])("[K-01] has no attempt %s", (attempt) => {
    expect(codeOf(() => delayMs(DEFAULT_BACKOFF, attempt))).toBe("BAD_POLICY");
  });

  it("[K-01] refuses a base or lease that is not positive, a cap below the base, a factor below 1", () => {
    const good: Backoff = { baseMs: 10, capMs: 10, factor: 1 };
    expect(checkBackoff(good, "retry")).toBe(good);
    for (const wrong of [
      { baseMs: 0 },
      { baseMs: -1 },
      { baseMs: NaN },
      { capMs: 9 },
      { capMs: NaN },
      { factor: 0.9 },
      { factor: NaN },
    ]) {
      expect([wrong, codeOf(() => checkBackoff({ ...good, ...wrong }, "retry"))]).toEqual([
        wrong,
        "BAD_POLICY",
      ]);
    }
    expect(checkLease(1, "lease")).toBe(1);
    for (const lease of [0, -5, NaN]) expect(codeOf(() => checkLease(lease, "lease"))).toBe("BAD_POLICY");
  });
});

describe("the spread", () => {
  const ratios = fc.double({ min: 0, max: 1, noNaN: true });

  it("[K-02] gives the same row and attempt the same instant, always", () => {
    fc.assert(
      fc.property(fc.string(), attempts, ratios, (id, attempt, ratio) => {
        expect(spread(60_000, id, attempt, ratio)).toBe(spread(60_000, id, attempt, ratio));
      }),
    );
    // Written down, so that a later release cannot change the instants of rows that are already waiting.
    expect([spread(60_000, "order-1", 1, 0.4), spread(60_000, "order-1", 2, 0.4)]).toEqual([61_172, 48_767]);
    expect(spread(60_000, "order-2", 1, 0.4)).toBe(54_526);
  });

  it("[K-02] moves a delay by at most half of its ratio, and not at all where it is off", () => {
    fc.assert(
      fc.property(
        fc.string(),
        attempts,
        ratios,
        fc.integer({ min: 0, max: 10_000_000 }),
        (id, attempt, ratio, delay) => {
          expect(Math.abs(spread(delay, id, attempt, ratio) - delay)).toBeLessThanOrEqual(
            (delay * ratio) / 2 + 1,
          );
          expect(spread(delay, id, attempt, 0)).toBe(delay);
        },
      ),
    );
  });

  it("[K-02] keeps rows that would wake together apart, also with ids that differ in one character", () => {
    const buckets = Array.from({ length: 20 }, () => 0);
    const rows = 20_000;
    for (let row = 0; row < rows; row++) {
      const share = (spread(1_000_000, `row-${row}`, 1, 1) - 500_000) / 1_000_000;
      const bucket = Math.min(19, Math.floor(share * 20));
      buckets[bucket] = (buckets[bucket] as number) + 1;
    }
    for (const count of buckets) {
      expect(count).toBeGreaterThan((rows / 20) * 0.8);
      expect(count).toBeLessThan((rows / 20) * 1.2);
    }
  });

  it("[K-02] moves one row to other instants from attempt to attempt", () => {
    const instants = Array.from({ length: 100 }, (_, n) => spread(1_000_000, "row", n + 1, 1));
    expect(new Set(instants).size).toBeGreaterThan(95);
  });
});
