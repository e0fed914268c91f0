/** Which instants a cron text means, in time zones whose clocks change. */
import { describe, expect, it } from "vitest";
import { ticksAfter } from "../../src/core/schedule/calendar.ts";
import { calendarOf } from "../../src/schedules/cron.ts";

/** The next ticks after an instant, as texts. */
function ticks(cron: string, zone: string, after: string, count: number): readonly string[] {
  const timetable = { name: "any", jitterMs: 0, calendar: calendarOf(cron, zone) };
  return ticksAfter(timetable, Date.parse(after), count).map(({ tickMs }) =>
    new Date(tickMs).toISOString().replace(":00.000Z", "Z"),
  );
}

describe("where the clocks go forward", () => {
  it("[S-41] a local time that does not exist ticks at the end of the gap, once", () => {
    // Berlin: 02:00 becomes 03:00, at 01:00Z.
    expect(ticks("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", 3)).toEqual([
      "2026-03-28T01:30Z",
      "2026-03-29T01:00Z",
      "2026-03-30T00:30Z",
    ]);
    // New York: 02:00 becomes 03:00, at 07:00Z.
    expect(ticks("30 2 * * *", "America/New_York", "2026-03-06T12:00:00Z", 3)).toEqual([
      "2026-03-07T07:30Z",
      "2026-03-08T07:00Z",
      "2026-03-09T06:30Z",
    ]);
    // Lord Howe: 02:00 becomes 02:30, at 15:30Z of the day before.
    expect(ticks("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T12:00:00Z", 3)).toEqual([
      "2026-10-02T15:45Z",
      "2026-10-03T15:30Z",
      "2026-10-04T15:15Z",
    ]);
  });

  it("[S-41] a text with several times a day has no tick in the gap", () => {
    expect(ticks("30 1,2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 3)).toEqual([
      "2026-03-29T00:30Z",
      "2026-03-29T23:30Z",
      "2026-03-30T00:30Z",
    ]);
    expect(ticks("*/15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", 3)).toEqual([
      "2026-10-03T15:30Z",
      "2026-10-03T15:45Z",
      "2026-10-04T15:00Z",
    ]);
  });
});

describe("where the clocks go back", () => {
  it("[S-41] a local time that exists twice ticks at the first of the two", () => {
    expect(ticks("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2)).toEqual([
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z",
    ]);
    expect(ticks("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 2)).toEqual([
      "2026-11-01T05:30Z",
      "2026-11-02T06:30Z",
    ]);
    expect(ticks("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", 2)).toEqual([
      "2026-04-04T14:45Z",
      "2026-04-05T15:15Z",
    ]);
  });

  it("[S-41] a text with several times a day ticks at both of them", () => {
    expect(ticks("0 * * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", 4)).toEqual([
      "2026-10-25T00:00Z",
      "2026-10-25T01:00Z",
      "2026-10-25T02:00Z",
      "2026-10-25T03:00Z",
    ]);
    expect(ticks("*/30 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", 4)).toEqual([
      "2026-04-04T14:00Z",
      "2026-04-04T14:30Z",
      "2026-04-04T15:00Z",
      "2026-04-05T14:30Z",
    ]);
  });
});

describe("a calendar", () => {
  const CASES: readonly (readonly [cron: string, zone: string, from: string, days: number])[] = [
    ["30 2 * * *", "Europe/Berlin", "2026-03-20", 14],
    ["30 2 * * *", "Europe/Berlin", "2026-10-18", 14],
    ["*/15 * * * *", "Europe/Berlin", "2026-10-24", 2],
    ["30 1,2 * * *", "America/New_York", "2026-03-01", 14],
    ["30 1 * * *", "America/New_York", "2026-10-25", 14],
    ["*/10 * * * *", "Australia/Lord_Howe", "2026-04-04", 2],
    ["*/10 * * * *", "Australia/Lord_Howe", "2026-10-03", 2],
    ["0 3 * * MON-FRI", "Asia/Kolkata", "2026-01-01", 20],
    ["@daily", "UTC", "2026-02-20", 20],
  ];

  it.each(CASES)("[S-41] finds the same ticks forward and backward: %s in %s", (cron, zone, from, days) => {
    const calendar = calendarOf(cron, zone);
    const [fromMs, toMs] = [Date.parse(from), Date.parse(from) + days * 86_400_000];
    const forward: number[] = [];
    for (let tick = calendar.next(fromMs); tick !== undefined && tick < toMs; tick = calendar.next(tick))
      forward.push(tick);
    const backward: number[] = [];
    for (let tick = calendar.previous(toMs); tick !== undefined && tick > fromMs;) {
      backward.unshift(tick);
      tick = calendar.previous(tick);
    }
    expect(forward.length).toBeGreaterThan(5);
    expect(backward).toEqual(forward);
  });

  it("[S-41] a tick is before every later instant and after none, to the millisecond", () => {
    const calendar = calendarOf("* * * * *", "UTC");
    const noon = Date.parse("2026-01-01T12:00:00Z");
    expect(calendar.next(noon - 1)).toBe(noon);
    expect(calendar.next(noon)).toBe(noon + 60_000);
    expect(calendar.previous(noon)).toBe(noon - 60_000);
    expect(calendar.previous(noon + 1)).toBe(noon);
    expect(calendar.previous(noon + 999)).toBe(noon);
  });
});
