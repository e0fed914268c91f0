import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, nextJob, type DeliveryPolicy } from "../../../src/core/delivery/decide.ts";
import { deliveryMachine } from "../../../src/core/delivery/machine.ts";

const policy: DeliveryPolicy = {
  backoff: { baseMs: 30_000, capMs: 3_600_000, factor: 2 },
  spreadRatio: 0,
  retryAfterMaxMs: 86_400_000,
};
const at = (attemptCount: number, attemptMax: number): Parameters<typeof decide>[0] => ({
  id: "7",
  attemptCount,
  attemptMax,
});
const bad = { ok: false, code: "http_500" };

describe("a result", () => {
  it("[W-09] that is a success completes, whatever was before", () => {
    expect(decide(at(9, 3), { ok: true, code: "http_200" }, policy)).toEqual({ event: "succeed" });
  });

  it("[W-08] that is a failure waits base · 2^(n−1), at most the cap, until the limit is reached", () => {
    const waits = Array.from({ length: 10 }, (_, count) => decide(at(count, 10), bad, policy));
    expect(waits.map((one) => ("waitMs" in one ? one.waitMs / 1000 : one.event))).toEqual([
      30,
      60,
      120,
      240,
      480,
      960,
      1920,
      3600,
      3600,
      "exhaust",
    ]);
  });

  it("[W-10] counts against a limit that is reached at ≥, the first attempt included", () => {
    expect(decide(at(0, 1), bad, policy)).toEqual({ event: "exhaust", error: "http_500" });
    expect(decide(at(5, 3), bad, policy)).toEqual({ event: "exhaust", error: "http_500" });
    expect(decide(at(0, 2), bad, policy).event).toBe("fail");
  });

  it("[W-17] that is final ends the delivery at once", () => {
    expect(decide(at(0, 9), { ok: false, code: "gone", final: true }, policy).event).toBe("exhaust");
  });

  it("[W-17] may ask for more time within bounds, never for less", () => {
    const wait = (retryAfterMs: number): unknown => decide(at(0, 9), { ...bad, retryAfterMs }, policy);
    expect(wait(1_000)).toMatchObject({ waitMs: 30_000 });
    expect(wait(90_000)).toMatchObject({ waitMs: 90_000 });
    expect(wait(1e12)).toMatchObject({ waitMs: 86_400_000 });
  });

  it("[K-02] spreads deliveries by their id and attempt, always by the same amount", () => {
    const spreading = { ...policy, spreadRatio: 0.2 };
    const waitOf = (id: string, attemptCount: number): number =>
      (decide({ id, attemptCount, attemptMax: 99 }, bad, spreading) as { waitMs: number }).waitMs;
    expect(waitOf("1", 0)).toBe(waitOf("1", 0));
    expect(new Set(Array.from({ length: 50 }, (_, id) => waitOf(String(id), 0))).size).toBeGreaterThan(40);
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 17n }), fc.integer({ min: 0, max: 6 }), (id, count) => {
        const wait = waitOf(String(id), count);
        const plain = 30_000 * 2 ** count;
        return wait >= plain * 0.9 && wait <= plain * 1.1;
      }),
    );
  });
});

it("[W-06] a job is created in the two cases of the source, and in no other", () => {
  const allowed: string[] = [];
  for (const status of deliveryMachine.states)
    for (const due of [true, false])
      for (const hasActiveJob of [true, false])
        for (const attemptCount of [0, 2, 3, 4]) {
          const next = nextJob({ status, attemptCount, attemptMax: 3, due, hasActiveJob });
          if (next !== "wait")
            allowed.push(`${next} ${status} ${attemptCount} ${String(due)} ${String(hasActiveJob)}`);
        }
  expect(allowed).toEqual([
    "createJob Pending 0 true false",
    "createJob Pending 2 true false",
    "createJob Pending 3 true false",
    "createJob Pending 4 true false",
    "createJob PendingRetry 0 true false",
    "createJob PendingRetry 2 true false",
    "exhaust PendingRetry 3 true false",
    "exhaust PendingRetry 4 true false",
  ]);
});
