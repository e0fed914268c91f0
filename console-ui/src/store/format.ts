/** Numbers, spans and instants as people read them. Pure, so that they can be shown to be right. */

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const plain = new Intl.NumberFormat("en");

export function formatCount(value: number): string {
  return Math.abs(value) < 10_000 ? plain.format(value) : compact.format(value);
}

/** `1 try`, `3 tries`. */
export function formatTimes(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** `7 ms`, `4.2 s`, `3 m 20 s`, `5 h 12 m`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  const span = Math.max(0, ms);
  if (span < 1_000) return `${Math.round(span)} ms`;
  if (span < 60_000) return `${(span / 1_000).toFixed(span < 9_950 ? 1 : 0)} s`;
  const units: readonly (readonly [string, number])[] = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ];
  const first = units.findIndex(([, size]) => span >= size);
  const parts = units.slice(first, first + 2).map(([unit, size], index) => {
    const before = index === 0 ? span : span % (units[first]?.[1] ?? 1);
    return { unit, count: Math.floor(before / size) };
  });
  return parts
    .filter(({ count }, index) => index === 0 || count > 0)
    .map(({ unit, count }) => `${count} ${unit}`)
    .join(" ");
}

/** One unit only, for columns: `3 m ago`, `in 2 h`, `just now`. */
export function formatAgo(atMs: number, nowMs: number): string {
  const away = nowMs - atMs;
  const size = Math.abs(away);
  if (size < 2_000) return away >= 0 ? "just now" : "in a moment";
  const word = coarse(size);
  return away >= 0 ? `${word} ago` : `in ${word}`;
}

function coarse(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} m`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / 86_400_000)} d`;
}

/** `2026-11-16 00:41:07.213`, in the reader's zone; the zone stands behind it. */
export function formatInstant(atMs: number): string {
  const at = new Date(atMs);
  if (Number.isNaN(at.getTime())) return "no such time";
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return `${date} ${time}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

export function formatZone(atMs: number): string {
  const minutes = -new Date(atMs).getTimezoneOffset();
  const sign = minutes < 0 ? "−" : "+";
  const size = Math.abs(minutes);
  return `UTC${sign}${String(Math.floor(size / 60)).padStart(2, "0")}:${String(size % 60).padStart(2, "0")}`;
}
