/** Lists of schedules and of their last ticks, what is overdue, and figures. */
import type { SagaStatus } from "../../core/saga/machine.ts";
import { isServed } from "../../sagas/kinds/queries.ts";
import { archivedStatus, sagaStatus } from "../../sagas/read/status-queries.ts";
import { flag, instant, optional, text } from "../../storage/column.ts";
import { gate, NEVER_GATE } from "../../storage/claim.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Selection } from "../../storage/read/selection.ts";
import { join, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import { REMOVED, SCHEDULE, TICK } from "../rows.ts";
import { joinLast } from "../tick-queries.ts";
import type { ScheduleStatus, TickView } from "./view.ts";

export const TICK_VIEW: Projection<TickView> = projection({
  ...TICK.shape,
  sagaStatus: optional(text<SagaStatus>("saga_status")),
});

/** The saga itself knows best; once retention has removed it, the record or the archive does. */
function statusOf(dialect: Dialect): Sql {
  const id = raw("t.saga_id");
  return sql`coalesce(${sagaStatus(dialect, id)}, nullif(t.ended, ${raw(`'${REMOVED}'`)}), ${archivedStatus(dialect, id)}) as saga_status`;
}

export interface ScheduleRange {
  /** The beginning of the names. */
  readonly name: string | undefined;
  readonly saga: string | undefined;
  readonly status: ScheduleStatus | undefined;
  /** The last name of the previous page. */
  readonly after: string | undefined;
  readonly limit: number;
}

/** No character comes after it. */
const LAST_CHARACTER = "\u{10FFFF}";

/** By name, each with its last tick. */
export function listSchedules(dialect: Dialect, range: ScheduleRange): Sql {
  const { name, saga, status, after, limit } = range;
  const where = [
    sql`s.name > ${after ?? ""}`, // from the lowest name on, so that each database walks along the key
    ...(name === undefined ? [] : [sql`s.name >= ${name} and s.name < ${`${name}${LAST_CHARACTER}`}`]),
    ...(saga === undefined ? [] : [sql`s.saga = ${saga}`]),
    ...(status === undefined ? [] : [raw(`s.paused_at is ${status === "paused" ? "not " : ""}null`)]),
  ];
  return sql`select ${SCHEDULE.columns(dialect, "s")}, ${TICK.columns(dialect, "t")}, ${statusOf(dialect)}
    from ${SCHEDULE.of(dialect)} as s ${joinLast(dialect)}
    where ${join(where, " and ")} order by s.name limit ${limit}`;
}

/** The records that are kept of a schedule, the newest first. */
export function selectTicks(dialect: Dialect, schedule: string): Sql {
  return sql`select ${TICK.columns(dialect, "t")}, ${statusOf(dialect)} from ${TICK.of(dialect)} as t
    where t.schedule = ${schedule} order by t.number desc`;
}

/** When the schedule under this alias ticks next, as the index of all of them has it. */
function nextAt(dialect: Dialect, alias: string): Sql {
  return gate(dialect, raw(`${alias}.next_at`));
}

/** The schedule under this alias has a tick: in words that only that index knows. */
function hasTick(dialect: Dialect, alias: string): Sql {
  return sql`${nextAt(dialect, alias)} > ${raw(dialect.pick(NEVER_GATE))}`;
}

/** The first tick of any schedule that begins before or after this instant. */
function firstTick(dialect: Dialect, where: Sql): Sql {
  return sql`(select c.next_at from ${SCHEDULE.of(dialect)} as c where ${hasTick(dialect, "c")} and ${nextAt(dialect, "c")} ${where}
    order by ${nextAt(dialect, "c")} limit 1)`;
}

/** When the next tick of any schedule begins, in milliseconds since the epoch; null if none does. */
export function nextTickDue(dialect: Dialect): Sql {
  return dialect.epochMs(firstTick(dialect, sql`> ${dialect.now()}`));
}

/** The oldest tick that has begun and has not been processed. */
export function oldestDue(dialect: Dialect): Sql {
  return firstTick(dialect, sql`<= ${dialect.now()}`);
}

/** The number of schedules that the sign of changes counts. */
const SIGN_MAX = 1_000;

/** A text that changes whenever a schedule changes or ticks. Among more than 1,000, one that is removed is not noticed. */
export function changeSign(dialect: Dialect): Sql {
  const newest = sql`(select ${dialect.epochMs(raw("c.updated_at"))} from ${SCHEDULE.of(dialect)} as c
    where c.updated_at > ${dialect.instantOf(0)} order by c.updated_at desc limit 1)`;
  return sql`(select cast(count(*) as text) || ' ' || coalesce(cast(${newest} as text), '')
    from (select 1 from ${SCHEDULE.of(dialect)} as n where n.name > '' order by n.name limit ${raw(String(SIGN_MAX))}) as counted)`;
}

/** A tick that has waited for this long needs a person. */
export const OVERDUE_MS = 600_000;

export interface OverdueSchedule {
  readonly name: string;
  readonly saga: string;
  readonly version: number;
  /** A running worker has the saga. */
  readonly isServed: boolean;
  readonly dueAt: number;
}

export const OVERDUE: Projection<OverdueSchedule> = projection({
  name: text("name"),
  saga: text("saga"),
  version: SCHEDULE.shape.version,
  isServed: flag("is_served"),
  dueAt: instant("due_at"),
});

/** Schedules whose tick has begun and that no worker has processed for a time. */
export function overdueRows(dialect: Dialect): Selection {
  const served = isServed(dialect, raw("s.saga"), raw("s.version"));
  return {
    from: sql`${SCHEDULE.of(dialect)} as s`,
    where: sql`${hasTick(dialect, "s")} and ${nextAt(dialect, "s")} <= ${dialect.plusMs(dialect.now(), -OVERDUE_MS)}`,
    at: nextAt(dialect, "s"),
    id: raw("s.name"),
    columns: sql`s.name, s.saga, s.version, case when ${served} then 1 else 0 end as is_served, ${dialect.epochMs(raw("s.next_at"))} as due_at`,
  };
}
