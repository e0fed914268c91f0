/**
 * Legal periods of retention and deadlines. Laws count in months and years, which have no fixed length: a span
 * stores months apart from milliseconds, and the database's calendar adds them.
 */
import { positiveMs, type Duration } from "../duration.ts";
import { AmendsError } from "../errors.ts";

/** A duration, or whole months or years by the calendar, such as "6mo" or "10y". At most 1000 years. */
export type Period = Duration | `${number}mo` | `${number}y`;

/** Exactly one of the two is not zero. */
export interface Span {
  readonly months: number;
  readonly ms: number;
}

/** A thousand years: later instants are beyond what the databases can hold. */
const MONTHS_MAX = 12_000;

export function span(period: Period, field: string): Span {
  const match = typeof period === "string" ? /^(\d{1,5})(mo|y)$/.exec(period) : null;
  if (!match) {
    if (typeof period === "string" && /mo$|y$/.test(period)) return refuse(field);
    return { months: 0, ms: positiveMs(period as Duration, field) };
  }
  const months = Number(match[1]) * (match[2] === "y" ? 12 : 1);
  return months < 1 || months > MONTHS_MAX ? refuse(field) : { months, ms: 0 };
}

function refuse(field: string): never {
  throw new AmendsError(
    "BAD_DURATION",
    `${field} must be whole months or years such as "6mo" or "10y" (a thousand years at most), or a duration such as "30d".`,
  );
}
