/** What happens to ticks that are due: exhaustively over small outages, and by properties over all of them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Calendar } from "../../../src/core/schedule/calendar.ts";
import {
  dueTicks,
  MISSED_POLICIES,
  type MissedPolicy,
  type PendingTicks,
} from "../../../src/core/schedule/due-ticks.ts";

const HOUR = 3_600_000;

/** A tick every hour. */
const HOURS: Calendar = {
  next: (afterMs) => (Math.floor(afterMs / HOUR) + 1) * HOUR,
  previous: (beforeMs) => (Math.ceil(beforeMs / HOUR) - 1) * HOUR,
};

function pending(missed: MissedPolicy, more: Partial<PendingTicks> = {}): PendingTicks {
  return { name: "s", calendar: HOURS, jitterMs: 0, missed, tickMs: 10 * HOUR, caughtUp: 0, ...more };
}

describe("a tick on time", () => {
  it.each(MISSED_POLICIES)("[S-41] starts, at most a minute late: %s", (missed) => {
    for (const lateMs of [0, 1, 59_999, 60_000])
      expect(dueTicks(pending(missed), 10 * HOUR + lateMs, 100)).toEqual({
        start: [10 * HOUR],
        missed: undefined,
        next: { tickMs: 11 * HOUR, dueMs: 11 * HOUR },
        caughtUp: 0,
      });
  });
});

describe("ticks that passed while no worker ran", () => {
  it('[S-41] "one": only the latest of them starts', () => {
    expect(dueTicks(pending("one"), 14.5 * HOUR, 100)).toEqual({
      start: [14 * HOUR],
      missed: { fromMs: 10 * HOUR, toMs: 13 * HOUR },
      next: { tickMs: 15 * HOUR, dueMs: 15 * HOUR },
      caughtUp: 0,
    });
    expect(dueTicks(pending("one"), 10.5 * HOUR, 100)).toMatchObject({
      start: [10 * HOUR],
      missed: undefined,
    });
  });

  it('[S-41] "one": a tick that is on time takes their place', () => {
    expect(dueTicks(pending("one"), 14 * HOUR + 5, 100)).toMatchObject({
      start: [14 * HOUR],
      missed: { fromMs: 10 * HOUR, toMs: 13 * HOUR },
    });
  });

  it('[S-41] "skip": none of them starts, and the next one that is on time does', () => {
    expect(dueTicks(pending("skip"), 14.5 * HOUR, 100)).toMatchObject({
      start: [],
      missed: { fromMs: 10 * HOUR, toMs: 14 * HOUR },
      next: { tickMs: 15 * HOUR },
    });
    expect(dueTicks(pending("skip"), 14 * HOUR, 100)).toMatchObject({
      start: [14 * HOUR],
      missed: { fromMs: 10 * HOUR, toMs: 13 * HOUR },
    });
  });

  it('[S-41] "all": each of them starts, the oldest first, as many at once as the limit says', () => {
    expect(dueTicks(pending("all"), 14.5 * HOUR, 100)).toMatchObject({
      start: [10, 11, 12, 13, 14].map((hour) => hour * HOUR),
      missed: undefined,
      next: { tickMs: 15 * HOUR },
      caughtUp: 0,
    });
    expect(dueTicks(pending("all"), 14.5 * HOUR, 3)).toEqual({
      start: [10, 11, 12].map((hour) => hour * HOUR),
      missed: undefined,
      next: { tickMs: 13 * HOUR, dueMs: 13 * HOUR },
      caughtUp: 3,
    });
  });

  it('[S-41] "all": no more than 1,000 of them start, and the others are recorded as missed', () => {
    const starts: number[] = [];
    let state: PendingTicks | undefined = pending("all");
    let missed: unknown;
    const nowMs = 1_510 * HOUR; // 1,500 late ticks, and one that is on time
    for (let round = 0; state && round < 50; round++) {
      const decided = dueTicks(state, nowMs, 100);
      starts.push(...decided.start);
      missed ??= decided.missed;
      const { next, caughtUp } = decided;
      state = next && next.dueMs <= nowMs ? { ...state, tickMs: next.tickMs, caughtUp } : undefined;
    }
    expect(starts).toHaveLength(1_001);
    expect(starts.slice(0, 1_000)).toEqual(Array.from({ length: 1_000 }, (_, n) => (10 + n) * HOUR));
    expect(starts.at(-1)).toBe(nowMs);
    expect(missed).toEqual({ fromMs: 1_010 * HOUR, toMs: 1_509 * HOUR });
  });
});

describe("whatever the outage", () => {
  const policy = fc.constantFrom(...MISSED_POLICIES);
  const outage = fc.integer({ min: 0, max: 40 * HOUR });
  const jitter = fc.constantFrom(0, 1_000, HOUR, 5 * HOUR);
  const limit = fc.integer({ min: 1, max: 7 });

  it("[S-41] every due tick is started or missed, exactly once and in order, and no tick before its time", () => {
    fc.assert(
      fc.property(policy, outage, jitter, limit, (missed, lateMs, jitterMs, max) => {
        let state = pending(missed, { jitterMs });
        const nowMs = 11 * HOUR + lateMs;
        const seen: number[] = [];
        let after: number | undefined;
        for (let round = 0; round < 100; round++) {
          const { start, missed: range, next, caughtUp } = dueTicks(state, nowMs, max);
          const out: number[] = [];
          for (let tick = range?.fromMs; range && tick !== undefined && tick <= range.toMs;) {
            out.push(tick);
            tick = HOURS.next(tick);
          }
          seen.push(...[...start, ...out].toSorted((a, b) => a - b));
          after = next?.tickMs;
          if (!next || next.dueMs > nowMs) break;
          state = { ...state, tickMs: next.tickMs, caughtUp };
        }
        expect(after).toBe(HOURS.next(seen.at(-1) as number));
        expect(seen).toEqual(Array.from({ length: seen.length }, (_, n) => (10 + n) * HOUR));
        expect(seen.at(-1)).toBeLessThanOrEqual(nowMs);
      }),
    );
  });
});
