/** When ticks begin, the ids of their sagas, and the form of a cron text. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planned, tickId, type Calendar } from "../../../src/core/schedule/calendar.ts";
import { checkCronText } from "../../../src/core/schedule/cron-text.ts";

/** A tick every minute. */
const MINUTES: Calendar = {
  next: (afterMs) => (Math.floor(afterMs / 60_000) + 1) * 60_000,
  previous: (beforeMs) => (Math.ceil(beforeMs / 60_000) - 1) * 60_000,
};

describe("the beginning of a tick", () => {
  it("[S-41] is the same whenever it is computed, within the jitter and before the next tick", () => {
    const jitter = fc.integer({ min: 0, max: 600_000 });
    const minute = fc.integer({ min: 0, max: 30_000_000 });
    fc.assert(
      fc.property(fc.string(), jitter, minute, (name, jitterMs, n) => {
        const timetable = { name, jitterMs, calendar: MINUTES };
        const { tickMs, dueMs } = planned(timetable, n * 60_000);
        expect(planned({ ...timetable }, tickMs)).toEqual({ tickMs, dueMs });
        expect(dueMs).toBeGreaterThanOrEqual(tickMs);
        expect(dueMs - tickMs).toBeLessThanOrEqual(Math.min(jitterMs, 60_000 - 1));
      }),
    );
  });

  it("[S-41] differs between schedules and between ticks", () => {
    const delays = new Set<number>();
    for (let n = 0; n < 10; n++)
      for (const name of ["a", "b", "c"]) {
        const { tickMs, dueMs } = planned({ name, jitterMs: 50_000, calendar: MINUTES }, n * 60_000);
        delays.add(dueMs - tickMs);
      }
    expect(delays.size).toBeGreaterThan(25);
  });
});

it("[S-41] the id of a saga says its tick", () => {
  expect(tickId("nightly-invoices", Date.parse("2026-11-18T02:00:00Z"))).toBe(
    "nightly-invoices@2026-11-18T02:00:00Z",
  );
});

describe("a cron text", () => {
  it("[S-41] has five fields, or is a nickname", () => {
    expect(checkCronText("  0  3 * *   MON ", "Schedule s")).toBe("0 3 * * MON");
    expect(checkCronText("@Daily", "Schedule s")).toBe("@daily");
  });

  it.each([
    ["* * * * * *", /five fields .* has 6\. Seconds and years are not supported/],
    ["0 3 * *", /five fields .* has 4\./],
    ["@reboot", /unknown name, @reboot/],
    ["2030-01-23T00:00:00", /five fields/],
    ["", /must be a text such as/],
    [undefined, /must be a text such as/],
    [`0 3 * * ${"1,".repeat(200)}1`, /at most 255 characters/],
  ])("[S-41] is refused otherwise: %s", (text, why) => {
    expect(() => checkCronText(text, "Schedule s")).toThrow(why);
  });
});
