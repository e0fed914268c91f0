/** Numbers, durations and instants as people read them. Pure, so that tests can check them. */

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const plain = new Intl.NumberFormat("en");

export function formatCount(value: number): string {
  return Math.abs(value) < 10_000 ? plain.format(value) : compact.format(value);
}

/** `1 attempt`, `3 attempts`. */
export function formatTimes(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatAttempts(count: number): string {
  return formatTimes(count, "attempt", "attempts");
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
    const rest = index === 0 ? span : span % (units[first]?.[1] ?? 1);
    return { unit, count: Math.floor(rest / size) };
  });
  return parts
    .filter(({ count }, index) => index === 0 || count > 0)
    .map(({ unit, count }) => `${count} ${unit}`)
    .join(" ");
}

/**
 * One unit only, for columns: `3 m ago`, `just now`, `in 2 h`. The clocks of the server and of this machine may differ a
 * little: what happened cannot lie ahead.
 */
export function formatAgo(atMs: number, nowMs: number): string {
  const away = nowMs - atMs;
  if (Math.abs(away) < 2_000) return "just now";
  return away >= 0 ? `${coarse(away)} ago` : `in ${coarse(-away)}`;
}

/** The same for what is planned: `in 2 h`, `now`, `3 m overdue`. */
export function formatPlanned(atMs: number, nowMs: number): string {
  const away = atMs - nowMs;
  if (Math.abs(away) < 2_000) return "now";
  return away >= 0 ? `in ${coarse(away)}` : `${coarse(-away)} overdue`;
}

function coarse(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} m`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / 86_400_000)} d`;
}

/** `Wed 2026-11-18 03:00` in a time zone by its name, or in UTC where this browser does not know it. */
export function formatInZone(atMs: number, timeZone: string): string {
  const parts = zoneFormat(timeZone).formatToParts(atMs);
  const of = (type: string): string => parts.find((part) => part.type === type)?.value ?? "";
  return `${of("weekday")} ${of("year")}-${of("month")}-${of("day")} ${of("hour")}:${of("minute")}`;
}

const zones = new Map<string, Intl.DateTimeFormat>();

function zoneFormat(timeZone: string): Intl.DateTimeFormat {
  const known = zones.get(timeZone);
  if (known) return known;
  const shape = {
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  } as const;
  let made: Intl.DateTimeFormat;
  try {
    made = new Intl.DateTimeFormat("en", { ...shape, timeZone });
  } catch {
    made = new Intl.DateTimeFormat("en", { ...shape, timeZone: "UTC" });
  }
  zones.set(timeZone, made);
  return made;
}

export type Zone = "local" | "utc";

/** `2026-11-16 00:41:07.213` in the reader's time zone or in UTC, without the zone. */
export function formatInstant(atMs: number, zone: Zone = "local"): string {
  const at = new Date(atMs);
  if (Number.isNaN(at.getTime())) return "invalid time";
  const shifted = zone === "utc" ? at : new Date(atMs - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 23).replace("T", " ");
}

/** For columns: `00:41:07` today, `11-16 00:41` on another day, `2025-11-16` in another year. */
export function formatShort(atMs: number, nowMs: number, zone: Zone): string {
  const [at, now] = [formatInstant(atMs, zone), formatInstant(nowMs, zone)];
  if (at.slice(0, 4) !== now.slice(0, 4)) return at.slice(0, 10);
  return at.slice(0, 10) === now.slice(0, 10) ? at.slice(11, 19) : at.slice(5, 16);
}

/** `UTC` or `UTC+05:30`. */
export function formatZone(atMs: number, zone: Zone = "local"): string {
  if (zone === "utc") return "UTC";
  const minutes = -new Date(atMs).getTimezoneOffset();
  const sign = minutes < 0 ? "−" : "+";
  const size = Math.abs(minutes);
  return `UTC${sign}${String(Math.floor(size / 60)).padStart(2, "0")}:${String(size % 60).padStart(2, "0")}`;
}
