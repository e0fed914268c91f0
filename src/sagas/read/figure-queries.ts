/** Figures about sagas. Each is read from an index and counted up to a bound, so that none grows with the past. */
import { CLAIMABLE, type SagaStatus } from "../../core/saga/machine.ts";
import { byPriority, gate, placeOf } from "../../storage/claim.ts";
import type { Dialect } from "../../storage/database.ts";
import { int } from "../../storage/column.ts";
import { fields } from "../../storage/fields.ts";
import { joinFirst } from "../../storage/first-rows.ts";
import { nextDueIn } from "../../storage/read/next-due.ts";
import { join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { isPausedKind, kindOfLane, openKinds } from "../kinds/queries.ts";
import { someOpen } from "./list-queries.ts";
import { inState } from "./walk-queries.ts";

/** When a saga was due first: one that was started for later has not waited until then. */
const FIRST_DUE = "coalesce(c.run_at, c.created_at)";

/** How many there are of each state, counted no further than `max`; of the open ones, no further altogether. */
export function countStatuses(dialect: Dialect, statuses: readonly SagaStatus[], max: number): Sql {
  const table = dialect.table("saga_executions");
  const counts = statuses.map((status) =>
    CLAIMABLE.includes(status)
      ? sql`(select count(*) from opened where opened.status = ${literals([status])}) as ${raw(status.toLowerCase())}`
      : sql`(select count(*) from (select 1 from ${table} as c where ${inState(status)} limit ${max + 1}) as counted) as ${raw(status.toLowerCase())}`,
  );
  return sql`with opened as materialized (select s.status from ${someOpen(dialect, max + 1)} as s)
    select ${join(counts, ", ")}, (select count(*) from opened) as open, ${dialect.epochMs(dialect.now())} as now_at`;
}

/** Spans of equal width from an instant on. */
export interface Spans {
  readonly fromMs: number;
  readonly widthMs: number;
  readonly count: number;
}

/** How many ended in each span, counted no further than `max`. */
export function countEnded(
  dialect: Dialect,
  statuses: readonly SagaStatus[],
  spans: Spans,
  max: number,
): Sql {
  const table = dialect.table("saga_executions");
  const stretch = (status: SagaStatus): Sql => sql`from ${table} as c where ${inState(status)}
    and ${inSpan(dialect, spans)} order by c.updated_at limit ${max}`;
  const counts = statuses.map(
    (status) =>
      sql`(select count(*) from (select 1 ${stretch(status)}) as counted) as ${raw(status.toLowerCase())}`,
  );
  // Where counting stopped: from this and the number, the pace is known.
  const reached = sql`(select ${dialect.epochMs(raw("max(t.updated_at)"))} from (select c.updated_at ${stretch("COMPLETED")}) as t) as reached`;
  return sql`select r.n, ${join(counts, ", ")}, ${reached} from ${numbers(dialect, spans.count)} order by r.n`;
}

/**
 * The newest `sample` sagas that completed in each span: how long each took and how long it had waited for a worker (0
 * if another worker had it before), as two numbers in one text.
 */
export function sampleSpans(dialect: Dialect, spans: Spans, sample: number): Sql {
  const ms = (name: string): Sql => dialect.epochMs(raw(`c.${name}`));
  const began = dialect.epochMs(raw(FIRST_DUE));
  const waited = sql`case when c.recovery_attempts = 0 then coalesce(${ms("last_attempt_at")} - ${began}, 0) else 0 end`;
  const query = sql`select cast(${ms("updated_at")} - ${began} as text) || ' ' || cast(${waited} as text) as value
    from ${dialect.table("saga_executions")} as c where ${inState("COMPLETED")}
      and ${inSpan(dialect, spans)} order by c.updated_at desc`;
  return sql`select r.n, first.value from ${numbers(dialect, spans.count)} ${joinFirst(dialect, query, sql`${sample}`, sample)}`;
}

function inSpan(dialect: Dialect, { fromMs, widthMs }: Spans): Sql {
  const from = dialect.instantOf(fromMs);
  return sql`c.updated_at >= ${dialect.plusMs(from, sql`(r.n * ${widthMs})`)}
    and c.updated_at < ${dialect.plusMs(from, sql`((r.n + 1) * ${widthMs})`)}`;
}

/** How long the newest `limit` sagas took that completed since an instant. */
export function listDurations(dialect: Dialect, fromMs: number, limit: number): Sql {
  const [began, updated] = [FIRST_DUE, "c.updated_at"].map((column) => dialect.epochMs(raw(column)));
  return sql`select ${updated} - ${began} as took from ${dialect.table("saga_executions")} as c
    where ${inState("COMPLETED")} and c.updated_at >= ${dialect.instantOf(fromMs)}
    order by c.updated_at desc, c.id desc limit ${limit}`;
}

/**
 * The due sagas of each kind and the oldest of them: those that never lost a worker, and the others. The index of due sagas
 * begins with the kind and the number of recoveries. Those that limits by key may hold back, and those that are paused, are not
 * among them: they do not wait for a worker.
 */
export function selectDue(dialect: Dialect, max: number): Sql {
  const place = raw(byPriority(dialect, "c."));
  const due = (
    recoveries: Sql,
  ): Sql => sql`(select ${dialect.epochMs(raw("coalesce(c.next_attempt_at, c.created_at)"))} as since
    from ${dialect.table("saga_executions")} as c
    where c.status in (${literals(CLAIMABLE)}) and c.kind = ${kindOfLane(dialect)} and c.recovery_attempts ${recoveries}
      and ${place} <= ${placeOf(dialect, dialect.now())} and ${gate(dialect, raw("c.next_attempt_at"))} <= ${dialect.now()}
    order by c.recovery_attempts, ${place}, c.id limit ${max + 1}) as counted`;
  const each = [raw("= 0"), raw("> 0")].map(
    (recoveries) => sql`select (select min(counted.since) from ${due(recoveries)}) as since,
      (select count(*) from ${due(recoveries)}) as due, ${dialect.epochMs(dialect.now())} as now_at
      from lanes where lanes.lane is not null and not ${isPausedKind(dialect)(raw("lanes.lane"))}`,
  );
  return sql`with recursive ${openKinds(dialect)} ${join(each, " union all ")}`;
}

/** When the next saga becomes due: a wait ends, or the lease of a worker. */
export function nextSagaDue(dialect: Dialect): Sql {
  const isOpen = sql`c.status in (${literals(CLAIMABLE)}) and c.paused_at is null`;
  return nextDueIn(dialect, dialect.table("saga_executions"), "next_attempt_at", isOpen);
}

/** Open sagas by name and version of their definition. */
export function countOpenKinds(dialect: Dialect): Sql {
  return sql`select name, definition, count(*) as sagas from ${dialect.table("saga_executions")}
    where status in (${literals(CLAIMABLE)}) group by name, definition`;
}

const NUMBERS = fields<number>({ n: int((n: number) => n) });

/** The numbers from 0 on, as `r(n)`. */
function numbers(dialect: Dialect, count: number): Sql {
  return dialect.rows(NUMBERS, [...Array(count).keys()]);
}
