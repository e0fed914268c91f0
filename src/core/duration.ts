/** Durations as people write them ("200ms", "30s", "5m", "1h", "30d"), or as a number of milliseconds. */
import { AmendsError } from "./errors.ts";

/** A duration: a number of milliseconds, or a text such as "200ms", "30s", "5m", "1h" or "30d". */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a duration. `field` names what it is for in the error. */
export function durationMs(duration: Duration, field: string): number {
  const match = typeof duration === "string" ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration) : null;
  const ms = match ? Number(match[1]) * (UNIT_MS[match[2] as string] as number) : duration;
  if (typeof ms !== "number" || !Number.isFinite(ms) || ms < 0) {
    throw new AmendsError(
      "BAD_DURATION",
      `${field} must be milliseconds or a text such as "200ms", "30s", "5m", "1h" or "30d".`,
    );
  }
  return Math.round(ms);
}

/** A duration that must not be zero. */
export function positiveMs(duration: Duration, field: string): number {
  const ms = durationMs(duration, field);
  if (ms <= 0) throw new AmendsError("BAD_DURATION", `${field} must be longer than zero.`);
  return ms;
}

/** A duration in the largest unit that fits it exactly: 7200000 is "2h". */
export function durationText(ms: number): string {
  const units = Object.entries(UNIT_MS).toReversed();
  const [unit, size] = units.find(([, one]) => ms >= one && ms % one === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}
