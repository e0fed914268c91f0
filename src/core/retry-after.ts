/** Parses Retry-After: seconds or an HTTP date. The wait is bounded, and any other form is ignored. */

/** The longest wait: a retry happens within a day, whatever the server asks for. */
export const RETRY_AFTER_MAX_MS = 86_400_000;

/** The three forms of RFC 9110: the current one, and the two old ones that must still be understood. */
const HTTP_DATES: readonly RegExp[] = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/** The wait, from 0 to the limit; undefined if the header is missing or not valid. */
export function retryAfterMs(
  value: string | undefined,
  nowMs: number,
  maxMs: number = RETRY_AFTER_MAX_MS,
): number | undefined {
  const text = value?.trim();
  if (text === undefined || text === "") return undefined;
  // A number with too many digits becomes Infinity, which the limit bounds.
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, maxMs);
  if (!HTTP_DATES.some((form) => form.test(text))) return undefined;
  const atMs = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(atMs - nowMs, 0), maxMs);
}
