import fc from "fast-check";
import { expect, it } from "vitest";
import { durationMs, positiveMs, type Duration } from "../../src/core/duration.ts";
import { AmendsError } from "../../src/core/errors.ts";
import { anyText } from "../support/any-text.ts";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function refused(given: unknown, read: typeof durationMs = durationMs): AmendsError {
  try {
    read(given as Duration, "The lease");
  } catch (error) {
    if (error instanceof AmendsError) return error;
    throw error;
  }
  throw new Error(`${String(given)} was taken`);
}

it("[K-20] durations are read in every unit, whole and broken", () => {
  for (const [unit, ms] of Object.entries(UNITS)) {
    expect(durationMs(`2${unit}` as Duration, "it")).toBe(2 * ms);
    expect(durationMs(`0.5${unit}` as Duration, "it")).toBe(Math.round(0.5 * ms));
  }
  expect(durationMs(0, "it")).toBe(0);
  expect(durationMs(1_500, "it")).toBe(1_500);
  expect(durationMs(1.4, "it")).toBe(1);
});

it("[K-20] what is no duration is refused with a message that names the field", () => {
  const wrong = [
    "",
    "5",
    "s",
    "5 s",
    "5S",
    "-5s",
    "1e3s",
    "5s\n",
    "٥s",
    "5w",
    NaN,
    Infinity,
    -1,
    null,
    undefined,
    {},
    [],
    true,
  ];
  for (const given of wrong) {
    expect(refused(given)).toMatchObject({ code: "BAD_DURATION" });
    expect(refused(given).message).toContain("The lease");
  }
  expect(refused(0, positiveMs)).toMatchObject({ code: "BAD_DURATION" });
  expect(refused("0s", positiveMs)).toMatchObject({ code: "BAD_DURATION" });
  expect(refused("0.0001ms", positiveMs)).toMatchObject({ code: "BAD_DURATION" });
});

it("[K-20] no text makes it throw anything but its own error, or return anything but whole milliseconds", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), anyText()), (text) => {
      const read = (): unknown => {
        try {
          return durationMs(text as Duration, "it");
        } catch (error) {
          return error;
        }
      };
      expect(read()).toSatisfy(
        (ms) => ms instanceof AmendsError || (Number.isInteger(ms) && Number(ms) >= 0),
      );
    }),
  );
});
