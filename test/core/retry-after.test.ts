import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RETRY_AFTER_MAX_MS, retryAfterMs } from "../../src/core/retry-after.ts";

const NOW = Date.UTC(2030, 0, 1, 12);

describe("Retry-After", () => {
  it("[W-17] is read as seconds or as any of the three forms of an HTTP date, and bounded", () => {
    const cases: readonly (readonly [string, number])[] = [
      ["0", 0],
      ["1", 1_000],
      [" 120 ", 120_000],
      ["86400", RETRY_AFTER_MAX_MS],
      ["86401", RETRY_AFTER_MAX_MS],
      ["9".repeat(400), RETRY_AFTER_MAX_MS],
      ["Tue, 01 Jan 2030 12:00:30 GMT", 30_000],
      ["Tue, 01 Jan 2030 11:00:00 GMT", 0],
      ["Fri, 31 Dec 9999 23:59:59 GMT", RETRY_AFTER_MAX_MS],
      ["Tuesday, 01-Jan-30 12:00:30 GMT", 30_000],
      ["Tue Jan  1 12:00:30 2030", 30_000],
    ];
    for (const [value, ms] of cases) expect([value, retryAfterMs(value, NOW)]).toEqual([value, ms]);
  });

  it("[W-17] says nothing in any other form", () => {
    const texts = [
      undefined,
      "",
      " ",
      "-1",
      "+1",
      "1.5",
      "1e3",
      "0x10",
      "1 2",
      "soon",
      "2030-01-01T12:00:30Z",
      "NaN",
      "Infinity",
    ];
    const dates = [
      "Tue, 99 Jan 2030 12:00:30 GMT",
      "Tue, 01 Foo 2030 12:00:30 GMT",
      "Tue, 01 Jan 2030 12:00:30 PST",
    ];
    for (const text of [...texts, ...dates])
      expect([text, retryAfterMs(text, NOW)]).toEqual([text, undefined]);
  });

  it("[W-17] stays between nothing and the limit, whatever it is given", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 0, max: 10_000 }), (value, maxMs) => {
        const ms = retryAfterMs(value, NOW, maxMs);
        expect(ms === undefined || (ms >= 0 && ms <= maxMs)).toBe(true);
      }),
    );
  });
});
