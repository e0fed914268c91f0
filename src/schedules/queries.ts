/** The statements that change a schedule by itself: put, pause, resume, run and remove. */
import { bigint, float, int, text } from "../storage/column.ts";
import type { Dialect } from "../storage/database.ts";
import { fields } from "../storage/fields.ts";
import { empty, raw, sql, type Sql } from "../storage/sql.ts";
import type { PlannedTick } from "../core/schedule/calendar.ts";
import type { CheckedDefinition } from "./definition.ts";
import { laneOf, newToken, SCHEDULE } from "./rows.ts";

export function selectSchedule(dialect: Dialect, name: string, lock: boolean): Sql {
  return sql`select ${SCHEDULE.columns(dialect, "s")}, ${dialect.epochMs(dialect.now())} as now_at
    from ${SCHEDULE.of(dialect)} as s where s.name = ${name} ${lock ? dialect.forUpdateOf("s") : empty}`;
}

/** The database's time, for a schedule that does not exist yet. */
export function selectNow(dialect: Dialect): Sql {
  return sql`select ${dialect.epochMs(dialect.now())} as now_at`;
}

/** A definition and the tick that comes next. */
export interface NewSchedule extends CheckedDefinition {
  readonly next: PlannedTick | undefined;
}

const DEFINITION = fields<NewSchedule>({
  name: text(({ name }) => name),
  cron: text(({ cron }) => cron),
  timezone: text(({ timezone }) => timezone),
  saga: text(({ saga }) => saga),
  version: int(({ version }) => version),
  lane: text(({ saga, version }) => laneOf(saga, version)),
  input: text(({ input }) => input),
  overlap: text(({ overlap }) => overlap),
  missed: text(({ missed }) => missed),
  jitter_ms: bigint(({ jitterMs }) => jitterMs),
  token: bigint(newToken),
});

const PLACED = fields<NewSchedule>({
  ...DEFINITION.shape,
  tick_ms: float(({ next }) => next?.tickMs),
  next_ms: float(({ next }) => next?.dueMs),
});

/** Returns no row if there is a schedule with this name. */
export function insertSchedule(dialect: Dialect, schedule: NewSchedule): Sql {
  return sql`insert into ${SCHEDULE.of(dialect)} (${DEFINITION.names}, tick_at, next_at, created_at, updated_at)
    select ${DEFINITION.list("r")}, ${dialect.instantOf(raw("r.tick_ms"))}, ${dialect.instantOf(raw("r.next_ms"))},
      ${dialect.now()}, ${dialect.now()}
    from ${dialect.rows(PLACED, [schedule])} where true on conflict (name) do nothing returning name`;
}

const REPLACED = "cron, timezone, saga, version, lane, input, overlap, missed, jitter_ms, token"
  .split(", ")
  .map((column) => `${column} = r.${column}`)
  .join(", ");

/** A run that was asked for stays. */
export function replaceSchedule(dialect: Dialect, schedule: NewSchedule): Sql {
  return sql`update ${SCHEDULE.of(dialect)} as c set ${raw(REPLACED)}, ${placedAt(dialect, raw("r.tick_ms"), raw("r.next_ms"))}
    from ${dialect.rows(PLACED, [schedule])} where c.name = r.name`;
}

/** The next tick, counted from now on. A run that was asked for stays due. */
function placedAt(dialect: Dialect, tickMs: Sql, nextMs: Sql): Sql {
  return sql`tick_at = ${dialect.instantOf(tickMs)}, caught_up = 0, updated_at = ${dialect.now()},
    next_at = case when c.run_id is null then ${dialect.instantOf(nextMs)} else c.next_at end`;
}

export interface PauseNote {
  readonly reason: string;
  readonly by: string | undefined;
}

export function pauseSchedule(dialect: Dialect, name: string, { reason, by }: PauseNote): Sql {
  return sql`update ${SCHEDULE.of(dialect)} as c set paused_at = ${dialect.now()}, paused_by = ${by ?? null},
      pause_reason = ${reason}, token = ${newToken()}, ${placedAt(dialect, raw("null"), raw("null"))}
    where c.name = ${name} and c.paused_at is null`;
}

export function resumeSchedule(dialect: Dialect, name: string, next: PlannedTick | undefined): Sql {
  const [tickMs, dueMs] = [sql`${next?.tickMs ?? null}`, sql`${next?.dueMs ?? null}`];
  return sql`update ${SCHEDULE.of(dialect)} as c set paused_at = null, paused_by = null, pause_reason = null,
      token = ${newToken()}, ${placedAt(dialect, tickMs, dueMs)}
    where c.name = ${name} and c.paused_at is not null`;
}

/** A worker that knows the saga starts it: it may be another process than this one. */
export function askForRun(dialect: Dialect, name: string, runId: string): Sql {
  return sql`update ${SCHEDULE.of(dialect)} as c set run_id = ${runId}, next_at = ${dialect.now()}, token = ${newToken()},
      updated_at = ${dialect.now()}
    where c.name = ${name}`;
}

export function deleteTicks(dialect: Dialect, name: string): Sql {
  return sql`delete from ${dialect.table("schedule_ticks")} where schedule = ${name}`;
}

/** Returns no row if there was no such schedule. */
export function deleteSchedule(dialect: Dialect, name: string): Sql {
  return sql`delete from ${SCHEDULE.of(dialect)} where name = ${name} returning name`;
}
