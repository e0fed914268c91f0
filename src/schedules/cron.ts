/**
 * Cron texts in time zones, through the library croner. Only this file imports it. It is asked for instants alone: it sets no
 * timer and reads no clock.
 *
 * Where the clocks change, a text with one minute and one hour ("30 2 * * *") ticks once a day: a local time that exists twice
 * ticks at the first of the two, and one that does not exist ticks at the end of the gap. Every other text (with `*`, a list, a
 * range or a step in its minute or hour) follows the local clock: it ticks at both of two equal times, and not in a gap.
 */
import { Cron } from "croner";
import { AmendsError } from "../core/errors.ts";
import type { Calendar } from "../core/schedule/calendar.ts";
import { checkCronText } from "../core/schedule/cron-text.ts";

/** Reading a text and a zone takes longer than finding a tick: the calendars in use are kept. */
const KEPT_MAX = 1_000;
const kept = new Map<string, Calendar>();

/** For texts and zones that were checked. */
export function calendarOf(cron: string, timezone: string): Calendar {
  const key = `${timezone} ${cron}`;
  const known = kept.get(key);
  if (known) return known;
  const made = read(cron, timezone);
  const [oldest] = kept.keys();
  if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest);
  kept.set(key, made);
  return made;
}

function read(cron: string, timezone: string): Calendar {
  const pattern = new Cron(cron, { timezone, paused: true, mode: cron.startsWith("@") ? "auto" : "5-part" });
  return {
    next: remembered((afterMs) => pattern.nextRun(new Date(afterMs))?.getTime()),
    // The library leaves milliseconds out of account: ticks before 12:00:00.001 are those before 12:00:01.
    previous: remembered((beforeMs) =>
      pattern.previousRuns(1, new Date(Math.ceil(beforeMs / 1_000) * 1_000))[0]?.getTime(),
    ),
  };
}

const REMEMBERED_MAX = 16;

/** Thousands of schedules with the same text ask for the same ticks at the same time. */
function remembered(find: (ms: number) => number | undefined): (ms: number) => number | undefined {
  const found = new Map<number, number | undefined>();
  return (ms) => {
    if (found.has(ms)) return found.get(ms);
    if (found.size >= REMEMBERED_MAX) found.clear();
    const tick = find(ms);
    found.set(ms, tick);
    return tick;
  };
}

/** The cron text as it is stored. Refuses one that cannot be read or that never ticks. `where` names the schedule. */
export function checkCron(given: unknown, timezone: string, where: string): string {
  const cron = checkCronText(given, where);
  let calendar: Calendar;
  try {
    calendar = calendarOf(cron, timezone);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : "";
    throw new AmendsError("BAD_DEFINITION", `${where}: \`cron\` "${cron}" cannot be read: ${why}`, {
      field: "cron",
    });
  }
  if (calendar.next(0) !== undefined) return cron;
  throw new AmendsError(
    "BAD_DEFINITION",
    `${where}: \`cron\` "${cron}" never ticks, because there is no such day.`,
    { field: "cron" },
  );
}

/** Offsets such as "+02:00" are refused: not every supported runtime knows them as time zones. */
const ZONE = /^[A-Za-z][\w+/-]{0,63}$/;

/** The time zone as it is stored: as it was given. */
export function checkTimezone(given: unknown, where: string): string {
  if (typeof given === "string" && ZONE.test(given) && isKnown(given)) return given;
  const named = typeof given === "string" ? `, and ${JSON.stringify(given.slice(0, 64))} is none` : "";
  throw new AmendsError(
    "BAD_DEFINITION",
    `${where}: \`timezone\` must be the name of a time zone, such as "Europe/Berlin" or "UTC"${named}.`,
    { field: "timezone" },
  );
}

function isKnown(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
