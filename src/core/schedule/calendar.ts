/**
 * The ticks of a schedule: which instants a cron text means, and when each of them begins. The library that reads cron texts
 * stands behind `Calendar`, so that everything that is decided about ticks is a pure function of instants.
 */
import { hash01 } from "../backoff.ts";

/** The instants of one cron text in one time zone, in milliseconds since the epoch. */
export interface Calendar {
  /** The first tick after an instant; undefined if there is none. */
  next(afterMs: number): number | undefined;
  /** The last tick before an instant; undefined if there is none. */
  previous(beforeMs: number): number | undefined;
}

/** What the beginning of a tick depends on. */
export interface Timetable {
  readonly name: string;
  readonly calendar: Calendar;
  readonly jitterMs: number;
}

/** A tick, and the instant at which it begins: the tick itself, or up to `jitter` later. */
export interface PlannedTick {
  readonly tickMs: number;
  readonly dueMs: number;
}

/**
 * The beginning of a tick, derived from the name and the tick alone. It comes before the next tick, however long the jitter is,
 * so that ticks begin in their order.
 */
export function planned({ name, calendar, jitterMs }: Timetable, tickMs: number): PlannedTick {
  if (jitterMs === 0) return { tickMs, dueMs: tickMs };
  const spanMs = Math.min(jitterMs, (calendar.next(tickMs) ?? Infinity) - tickMs);
  return { tickMs, dueMs: tickMs + Math.floor(hash01(`${name}#${tickMs}`) * spanMs) };
}

/** The first tick after an instant, with its beginning; undefined if there is none. */
export function firstAfter(timetable: Timetable, afterMs: number): PlannedTick | undefined {
  const tickMs = timetable.calendar.next(afterMs);
  return tickMs === undefined ? undefined : planned(timetable, tickMs);
}

/** The next ticks after an instant, at most `count`. */
export function ticksAfter(timetable: Timetable, afterMs: number, count: number): readonly PlannedTick[] {
  const ticks: PlannedTick[] = [];
  for (let next = firstAfter(timetable, afterMs); next && ticks.length < count;) {
    ticks.push(next);
    next = firstAfter(timetable, next.tickMs);
  }
  return ticks;
}

/** The id of the saga of a tick: `nightly-invoices@2026-11-18T02:00:00Z`. */
export function tickId(name: string, tickMs: number): string {
  return `${name}@${new Date(tickMs).toISOString().replace(/\.000Z$/, "Z")}`;
}
