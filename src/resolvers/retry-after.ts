/**
 * The wait that Retry-After asks for. Dates are compared with the reply's own Date header, because clocks may
 * differ.
 */
import { retryAfterMs as read } from "../core/retry-after.ts";

/** Milliseconds, or undefined if the header is missing or not valid. `date` is the reply's own Date header. */
export function retryAfterMs(
  retryAfter: string | null | undefined,
  date: string | null | undefined,
): number | undefined {
  const ms = read(retryAfter ?? undefined, Date.parse(date ?? ""));
  // A date cannot be used without the reply's own Date header.
  return ms === undefined || Number.isNaN(ms) ? undefined : ms;
}
