/** The rows of schedules and of their last ticks. */
import type { MissedPolicy, OverlapPolicy, TickOutcome } from "../core/schedule/due-ticks.ts";
import type { TickRecord } from "../core/schedule/outcomes.ts";
import { bigint, flag, instant, int, optional, text } from "../storage/column.ts";
import { draw } from "../storage/draw.ts";
import { table, type Table } from "../storage/table.ts";
import type { CheckedDefinition } from "./definition.ts";

/** A schedule as it is stored. Instants are in milliseconds since the epoch. */
export interface ScheduleRow extends CheckedDefinition {
  /** Another one after each change. */
  readonly token: number;
  /** The next tick; undefined while it is paused. */
  readonly tickAt: number | undefined;
  /** When a worker is to look at it: the beginning of the next tick, or a run that was asked for. */
  readonly nextAt: number | undefined;
  /** The id of a saga that an operator asked for. */
  readonly runId: string | undefined;
  readonly caughtUp: number;
  /** How many records there have been. The last one has this number minus one. */
  readonly ticks: number;
  readonly pausedAt: number | undefined;
  readonly pausedBy: string | undefined;
  readonly pauseReason: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export const SCHEDULE: Table<ScheduleRow> = table("schedules", {
  name: text("name"),
  cron: text("cron"),
  timezone: text("timezone"),
  saga: text("saga"),
  version: int("version"),
  input: text("input"),
  overlap: text<OverlapPolicy>("overlap"),
  missed: text<MissedPolicy>("missed"),
  jitterMs: bigint("jitter_ms"),
  token: bigint("token"),
  tickAt: optional(instant("tick_at")),
  nextAt: optional(instant("next_at")),
  runId: optional(text("run_id")),
  caughtUp: int("caught_up"),
  ticks: bigint("ticks"),
  pausedAt: optional(instant("paused_at")),
  pausedBy: optional(text("paused_by")),
  pauseReason: optional(text("pause_reason")),
  createdAt: instant("created_at"),
  updatedAt: instant("updated_at"),
});

/** The records that are kept of each schedule. */
export const KEPT = 100;

/** The end of a saga that retention had removed before a later tick could see it. */
export const REMOVED = "removed";

export const TICK: Table<TickRecord> = table("schedule_ticks", {
  number: bigint("number"),
  at: instant("at"),
  until: instant("until"),
  outcome: text<TickOutcome>("outcome"),
  isRun: flag("is_run"),
  sagaId: optional(text("saga_id")),
});

/** The kind of saga that a schedule starts: workers look for the kinds that they know. */
export function laneOf(saga: string, version: number): string {
  return `${saga}@${version}`;
}

const LOW = 2 ** 20;

/** A token that was never used before: a random number that JavaScript holds exactly. */
export function newToken(): number {
  return draw() * LOW + (draw() % LOW);
}
