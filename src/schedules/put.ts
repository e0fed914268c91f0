/** Writes definitions of schedules, each operation as work for either kind of a caller's transaction. */
import { insertAction } from "../audit/action-queries.ts";
import type { NewAction } from "../core/action.ts";
import { AmendsError } from "../core/errors.ts";
import { firstAfter, type PlannedTick } from "../core/schedule/calendar.ts";
import { float } from "../storage/column.ts";
import type { Dialect, Row } from "../storage/database.ts";
import type { Work } from "../storage/joins/work.ts";
import { projection } from "../storage/table.ts";
import { calendarOf } from "./cron.ts";
import { isSameDefinition, type CheckedDefinition } from "./definition.ts";
import {
  deleteSchedule,
  deleteTicks,
  insertSchedule,
  replaceSchedule,
  selectNow,
  selectSchedule,
} from "./queries.ts";
import { SCHEDULE } from "./rows.ts";

/** What became of a schedule that was put. */
export interface PutResult {
  /** `none` if the schedule existed with this very definition: its next tick stays. */
  readonly change: "created" | "replaced" | "none";
  /** The next tick; undefined while the schedule is paused. */
  readonly nextAt: Date | undefined;
}

/** What is written, and when its next tick begins. */
export interface Put {
  readonly change: PutResult["change"];
  readonly next: PlannedTick | undefined;
  /** The database's time when the tick was chosen. */
  readonly nowMs: number;
}

const NOW = projection({ nowMs: float("now_at") });

/** The schedule may be inserted or removed by another transaction between two statements. */
const TRIES = 5;

export function* putting(dialect: Dialect, definition: CheckedDefinition): Work<Put> {
  for (let round = 0; round < TRIES; round++) {
    const [found] = yield selectSchedule(dialect, definition.name, true);
    const nowMs = nowOf(found ?? (yield selectNow(dialect))[0]);
    const next = nextAfter(definition, nowMs);
    if (!found) {
      const [made] = yield insertSchedule(dialect, { ...definition, next });
      if (!made) continue;
      yield* notifying(dialect);
      return { change: "created", next, nowMs };
    }
    const row = SCHEDULE.read(found);
    const { tickAt, nextAt } = row;
    if (isSameDefinition(row, definition)) {
      const kept = tickAt === undefined ? undefined : { tickMs: tickAt, dueMs: nextAt ?? tickAt };
      return { change: "none", next: kept, nowMs };
    }
    const isPaused = row.pausedAt !== undefined;
    yield replaceSchedule(dialect, { ...definition, next: isPaused ? undefined : next });
    yield* notifying(dialect);
    return { change: "replaced", next: isPaused ? undefined : next, nowMs };
  }
  throw new AmendsError(
    "NOT_ALLOWED_NOW",
    `Schedule ${definition.name} is put and removed by others at the same time. Put it again.`,
  );
}

export function nextAfter(definition: CheckedDefinition, nowMs: number): PlannedTick | undefined {
  const calendar = calendarOf(definition.cron, definition.timezone);
  return firstAfter({ ...definition, calendar }, nowMs);
}

export function nowOf(row: Row | undefined): number {
  return NOW.read(row ?? {}).nowMs;
}

/** Sagas that its ticks have started go on. False if there was no such schedule. */
export function* removing(dialect: Dialect, actionId: string, action: NewAction): Work<boolean> {
  const name = action.target.id;
  const [gone] = yield deleteSchedule(dialect, name);
  if (!gone) return false;
  yield deleteTicks(dialect, name);
  for (const outcome of ["asked", "done"] as const)
    yield insertAction(dialect, actionId, action, outcome, null);
  return true;
}

/** Workers of other processes learn of it when the transaction commits. */
export function* notifying(dialect: Dialect): Work<void> {
  const notice = dialect.notify();
  if (notice) yield notice;
}
