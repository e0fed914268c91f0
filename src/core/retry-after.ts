/**
 * What a server asks for with Retry-After: seconds, or an HTTP date. It is a wish, so it is bounded, and anything
 * that is not exactly one of the two forms counts as not said.
 */

/** However long a server asks for, it is tried again within a day. */
export const RETRY_AFTER_MAX_MS = 86_400_000;

/** The three forms of RFC 9110: the current one, and the two old ones that must still be understood. */
const HTTP_DATES: readonly RegExp[] = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/** How long to wait, between nothing and the limit; undefined where nothing was said that can be understood. */
export function retryAfterMs(
  value: string | undefined,
  nowMs: number,
  maxMs: number = RETRY_AFTER_MAX_MS,
): number | undefined {
  const text = value?.trim();
  if (text === undefined || text === "") return undefined;
  // A number too long to be a number of seconds is Infinity here, which the limit turns into itself.
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, maxMs);
  if (!HTTP_DATES.some((form) => form.test(text))) return undefined;
  const atMs = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(atMs - nowMs, 0), maxMs);
}
