/** The statements of ticks: which schedules are due, and what is written when their ticks start. */
import type { TickRecord } from "../core/schedule/outcomes.ts";
import { bigint, flag, float, int, optional, text } from "../storage/column.ts";
import type { Dialect } from "../storage/database.ts";
import { fields } from "../storage/fields.ts";
import { firstOfLanes, leastOfLanes } from "../storage/lanes.ts";
import { untilInstant } from "../storage/read/next-due.ts";
import { raw, sql, type Sql } from "../storage/sql.ts";
import { projection, type Projection } from "../storage/table.ts";
import { sagaStatus } from "../sagas/read/status-queries.ts";
import type { SagaStatus } from "../core/saga/machine.ts";
import { KEPT, SCHEDULE, TICK, type ScheduleRow } from "./rows.ts";

/** The last record of the schedule `s`, as `t`. The limit has PostgreSQL look each of them up, whatever its statistics say. */
export function joinLast(dialect: Dialect): Sql {
  const isLast = sql`t.schedule = s.name and s.ticks > 0 and t.slot = (s.ticks - 1) % ${raw(String(KEPT))}`;
  return dialect.pick({
    postgres: sql`left join lateral (select t.* from ${TICK.of(dialect)} as t where ${isLast} limit 1) as t on true`,
    sqlite: sql`left join ${TICK.of(dialect)} as t on ${isLast}`,
  });
}

export interface DueSchedule extends ScheduleRow {
  readonly nowMs: number;
}

export const DUE: Projection<DueSchedule> = projection({ ...SCHEDULE.shape, nowMs: float("now_at") });

/** The schedules of these sagas whose next tick has begun, at most `limit`, those that have waited longest first. */
export function selectDue(dialect: Dialect, lanes: readonly string[], limit: number): Sql {
  const due = sql`select s.name as value from ${SCHEDULE.of(dialect)} as s
    where s.lane = r.lane and s.next_at is not null and s.next_at <= ${dialect.now()} order by s.next_at, s.name`;
  const max = sql`${limit}`;
  return sql`with picked as materialized (select first.value from ${firstOfLanes(dialect, { names: lanes }, due, max, raw(""))} limit ${max})
    select ${SCHEDULE.columns(dialect, "s")}, ${TICK.columns(dialect, "t")}, ${dialect.epochMs(dialect.now())} as now_at
    from picked join ${SCHEDULE.of(dialect)} as s on s.name = picked.value ${joinLast(dialect)}`;
}

/** Milliseconds until the next tick of these sagas begins: negative if it has begun, null if there is none. */
export function untilNext(dialect: Dialect, lanes: readonly string[]): Sql {
  const first = sql`select s.next_at from ${SCHEDULE.of(dialect)} as s
    where s.lane = r.lane and s.next_at is not null order by s.next_at limit 1`;
  return untilInstant(dialect, leastOfLanes(dialect, { names: lanes }, [first]));
}

export const UNTIL_NEXT: Projection<{ readonly untilMs: number | undefined }> = projection({
  untilMs: optional(float("until_ms")),
});

export function selectUntilNext(dialect: Dialect, lanes: readonly string[]): Sql {
  return sql`select ${untilNext(dialect, lanes)} as until_ms`;
}

/** A started saga of which no later tick has seen the end. */
export interface OpenTick {
  readonly schedule: string;
  readonly number: number;
  readonly sagaId: string;
  readonly status: SagaStatus | undefined;
}

export const OPEN_TICK: Projection<OpenTick> = projection({
  schedule: text("schedule"),
  number: bigint("number"),
  sagaId: text("saga_id"),
  status: optional(text<SagaStatus>("status")),
});

export function selectOpenTicks(dialect: Dialect, names: readonly string[]): Sql {
  return sql`select o.schedule, o.number, o.saga_id, ${sagaStatus(dialect, raw("o.saga_id"))} as status
    from ${TICK.of(dialect)} as o
    where ${dialect.among(raw("o.schedule"), names)} and o.outcome = 'started' and o.ended is null
    order by o.schedule, o.number`;
}

/** A schedule after its ticks. */
export interface MovedSchedule {
  readonly name: string;
  /** As it was read. */
  readonly token: number;
  readonly newToken: number;
  readonly tickMs: number | undefined;
  readonly nextMs: number | undefined;
  readonly caughtUp: number;
  readonly ticks: number;
}

const MOVED = fields<MovedSchedule>({
  row_id: text(({ name }) => name),
  row_token: bigint(({ token }) => token),
  new_token: bigint(({ newToken }) => newToken),
  tick_ms: float(({ tickMs }) => tickMs),
  next_ms: float(({ nextMs }) => nextMs),
  caught_up: int(({ caughtUp }) => caughtUp),
  ticks: bigint(({ ticks }) => ticks),
});

const FENCE = MOVED.pick("row_id", "row_token");

/** Locks the schedules that are as they were read. Those that another worker has locked are its own. */
export function lockDue(dialect: Dialect, moved: readonly MovedSchedule[]): Sql {
  return sql`select c.name from ${SCHEDULE.of(dialect)} as c join ${dialect.rows(FENCE, moved)}
    on c.name = r.row_id and c.token = r.row_token order by c.name ${dialect.forUpdateOf("c", "skip locked")}`;
}

/** The fence once more: the row is locked, and a row that is not as it was read stays as it is. */
export function moveSchedules(dialect: Dialect, moved: readonly MovedSchedule[]): Sql {
  return sql`update ${SCHEDULE.of(dialect)} as c set token = r.new_token, run_id = null, caught_up = r.caught_up,
      ticks = r.ticks, tick_at = ${dialect.instantOf(raw("r.tick_ms"))}, next_at = ${dialect.instantOf(raw("r.next_ms"))},
      updated_at = ${dialect.now()}
    from ${dialect.rows(MOVED, moved)} where c.name = r.row_id and c.token = r.row_token`;
}

export interface NewTick extends TickRecord {
  readonly schedule: string;
}

const NEW_TICK = fields<NewTick>({
  schedule: text(({ schedule }) => schedule),
  slot: int(({ number }) => number % KEPT),
  number: bigint(({ number }) => number),
  outcome: text(({ outcome }) => outcome),
  saga_id: text(({ sagaId }) => sagaId),
});

const TIMED_TICK = fields<NewTick>({
  ...NEW_TICK.shape,
  at_ms: float(({ at }) => at),
  until_ms: float(({ until }) => until),
  run: flag(({ isRun }) => isRun),
});

/** A record takes the place of the one that is a hundred records older, or of itself. */
export function writeTicks(dialect: Dialect, ticks: readonly NewTick[]): Sql {
  const isRun = dialect.pick({ postgres: raw("r.run = 1"), sqlite: raw("r.run") });
  return sql`insert into ${TICK.of(dialect)} (${NEW_TICK.names}, at, until, is_run)
    select ${NEW_TICK.list("r")}, ${dialect.instantOf(raw("r.at_ms"))}, ${dialect.instantOf(raw("r.until_ms"))}, ${isRun}
    from ${dialect.rows(TIMED_TICK, ticks)} where true
    on conflict (schedule, slot) do update set number = excluded.number, at = excluded.at, until = excluded.until,
      outcome = excluded.outcome, is_run = excluded.is_run, saga_id = excluded.saga_id, ended = null`;
}

/** How the saga of a tick ended. */
export interface EndedTick {
  readonly schedule: string;
  readonly number: number;
  readonly ended: string;
}

const ENDED = fields<EndedTick>({
  schedule: text(({ schedule }) => schedule),
  slot: int(({ number }) => number % KEPT),
  number: bigint(({ number }) => number),
  ended: text(({ ended }) => ended),
});

export function noteEnds(dialect: Dialect, ends: readonly EndedTick[]): Sql {
  return sql`update ${TICK.of(dialect)} as c set ended = r.ended from ${dialect.rows(ENDED, ends)}
    where c.schedule = r.schedule and c.slot = r.slot and c.number = r.number`;
}
