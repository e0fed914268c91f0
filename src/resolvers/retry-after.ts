/** How long the other side asks to be left alone, told by its headers alone: our clock and its clock need not agree. */
import { retryAfterMs as read } from "../core/retry-after.ts";

/** Milliseconds, or undefined where nothing sensible was said. `date` is the reply's own Date header. */
export function retryAfterMs(
  retryAfter: string | null | undefined,
  date: string | null | undefined,
): number | undefined {
  const ms = read(retryAfter ?? undefined, Date.parse(date ?? ""));
  // A date means nothing without the other side's own.
  return ms === undefined || Number.isNaN(ms) ? undefined : ms;
}
