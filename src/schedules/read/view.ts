/** A schedule as people see it: its definition, its next ticks and what became of the last ones. */
import { planned, ticksAfter, type PlannedTick } from "../../core/schedule/calendar.ts";
import type { MissedPolicy, OverlapPolicy, TickOutcome } from "../../core/schedule/due-ticks.ts";
import type { TickRecord } from "../../core/schedule/outcomes.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import { calendarOf } from "../cron.ts";
import type { ScheduleRow } from "../rows.ts";

/** Whether a schedule ticks. */
export type ScheduleStatus = "active" | "paused";

/** A tick that is to come. */
export interface NextTick {
  /** The tick: the instant that the cron text means, which is in the id of its saga. */
  readonly at: Date;
  /** When it begins: at once, or later by the jitter. */
  readonly beginsAt: Date;
}

/** What became of a tick, or of several ticks in a row that had the same outcome. */
export interface ScheduleTick {
  /** The tick, or the first of them. */
  readonly at: Date;
  /** The last of several ticks; undefined for one. */
  readonly until: Date | undefined;
  /** `started`; `skipped` because an earlier saga was open; `missed` because no worker ran. */
  readonly outcome: TickOutcome;
  /** True if an operator asked for it with `run`. */
  readonly run: boolean;
  /** The saga that was started, or the open one because of which the tick was skipped. */
  readonly sagaId: string | undefined;
  /** The status of that saga; undefined if there is none, or if retention has removed it. */
  readonly sagaStatus: SagaStatus | undefined;
}

/** A schedule in a list. */
export interface ListedSchedule {
  /** The name of the schedule. */
  readonly name: string;
  /** Whether it ticks. */
  readonly status: ScheduleStatus;
  /** When it ticks. */
  readonly cron: string;
  /** The time zone of `cron`. */
  readonly timezone: string;
  /** The name of the saga that each tick starts. */
  readonly saga: string;
  /** The version of the saga. */
  readonly version: number;
  /** What happens to a tick while the saga of an earlier one is open. */
  readonly overlap: OverlapPolicy;
  /** What happens to ticks that passed while no worker ran. */
  readonly missed: MissedPolicy;
  /** How much later than its time a tick may begin, in milliseconds. */
  readonly jitterMs: number;
  /** The next tick; undefined while the schedule is paused. */
  readonly next: NextTick | undefined;
  /** The last tick; undefined if there was none. */
  readonly last: ScheduleTick | undefined;
  /** The saga that an operator asked for with `run`, and that no worker has started yet. */
  readonly pendingRun: string | undefined;
  /** Since when it is paused, by whom and why; undefined if it is not. */
  readonly paused: PauseView | undefined;
  /** When it was put for the first time, by the database's clock. */
  readonly createdAt: Date;
  /** When it last changed or ticked, by the database's clock. */
  readonly updatedAt: Date;
}

/** Why a schedule is paused. */
export interface PauseView {
  /** Since when it is paused. */
  readonly since: Date;
  /** Who paused it; undefined if no name was given. */
  readonly by: string | undefined;
  /** The reason that was given. */
  readonly reason: string;
}

/** One schedule, with its ticks. */
export interface Schedule extends ListedSchedule {
  /** The input of each saga. It may hold personal data. */
  readonly input: unknown;
  /** The next ticks, in their order; none while it is paused. */
  readonly nextTicks: readonly NextTick[];
  /** The last ticks, the newest first, at most 100. */
  readonly lastTicks: readonly ScheduleTick[];
}

/** A record with the status of its saga. */
export interface TickView extends TickRecord {
  readonly sagaStatus: SagaStatus | undefined;
}

export function toListed(row: ScheduleRow, last: TickView | undefined): ListedSchedule {
  const { name, cron, timezone, saga, version, overlap, missed, jitterMs, tickAt } = row;
  return {
    name,
    status: row.pausedAt === undefined ? "active" : "paused",
    cron,
    timezone,
    saga,
    version,
    overlap,
    missed,
    jitterMs,
    next: tickAt === undefined ? undefined : toNext(planned(timetableOf(row), tickAt)),
    last: last && toTick(last),
    pendingRun: row.runId,
    paused: pauseOf(row),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
  };
}

/** The stored tick comes first: it may have passed. */
export function nextTicksOf(row: ScheduleRow, count: number): readonly NextTick[] {
  const { tickAt } = row;
  if (tickAt === undefined) return [];
  const timetable = timetableOf(row);
  return [planned(timetable, tickAt), ...ticksAfter(timetable, tickAt, count - 1)].map(toNext);
}

export function toTick({ at, until, outcome, isRun, sagaId, sagaStatus }: TickView): ScheduleTick {
  const last = until > at ? new Date(until) : undefined;
  return { at: new Date(at), until: last, outcome, run: isRun, sagaId, sagaStatus };
}

function timetableOf({ name, cron, timezone, jitterMs }: ScheduleRow): Parameters<typeof planned>[0] {
  return { name, jitterMs, calendar: calendarOf(cron, timezone) };
}

function toNext({ tickMs, dueMs }: PlannedTick): NextTick {
  return { at: new Date(tickMs), beginsAt: new Date(dueMs) };
}

function pauseOf({ pausedAt, pausedBy: by, pauseReason = "" }: ScheduleRow): PauseView | undefined {
  return pausedAt === undefined ? undefined : { since: new Date(pausedAt), by, reason: pauseReason };
}
