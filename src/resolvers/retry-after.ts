/** How long the other side asks to be left alone, told by its headers alone: our clock and its clock need not agree. */

/** Milliseconds, or undefined where nothing sensible was said. `date` is the reply's own Date header. */
export function retryAfterMs(
  retryAfter: string | null | undefined,
  date: string | null | undefined,
): number | undefined {
  const text = retryAfter?.trim();
  if (!text) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const ms = Date.parse(text) - Date.parse(date ?? "");
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
