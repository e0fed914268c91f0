/**
 * Lists of runs. A list is a union of one short index scan per ended state and one of the open runs. A search by
 * type scans a bounded number of runs.
 */
import { flowMachine, OPEN_FLOWS, type FlowStatus } from "../../core/flow/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Selection } from "../../storage/read/selection.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { runColumns } from "../store/run-queries.ts";

/** The last run of the previous page. */
export type RunPlace = readonly [atMs: number, id: string];

export interface RunRange {
  readonly statuses: readonly FlowStatus[];
  /** Undefined: runs of every type. */
  readonly types: readonly string[] | undefined;
  readonly after: RunPlace | undefined;
}

/** The number of runs that a search scans. */
export const RUN_SCAN_MAX = 2_000;
/** The number of open runs that a list reads along their index: usually there are few. */
const OPEN_MAX = 5_000;
/** The number of processes with the prefix that are read per type. */
const PREFIX_MAX = 500;

/** The last change of an ended or stalled run is the instant of its end: its index is ordered by that. */
type Instant = "updated_at" | "rested_at";

function before(
  dialect: Dialect,
  of: string,
  after: RunPlace | undefined,
  instant: Instant = "updated_at",
): Sql {
  const [updated, id] = [raw(`${of}.${instant}`), raw(`${of}.saga_id`)];
  return after ? sql`and (${updated}, ${id}) < (${dialect.instantOf(after[0])}, ${after[1]})` : empty;
}

function newestOf(of: string, limit: number, instant: Instant = "updated_at"): Sql {
  return sql`order by ${raw(`${of}.${instant}`)} desc, ${raw(of)}.saga_id desc limit ${limit}`;
}

/** Open runs as a relation, along the index that holds just them. */
function someOpen(dialect: Dialect, limit: number): Sql {
  return sql`(select o.saga_id, o.status, o.updated_at from ${dialect.table("saga_state")} as o
    where o.status in (${literals(OPEN_FLOWS)}) order by o.saga_type, o.process_id limit ${limit})`;
}

/** The state and all states of its partial index: SQLite does not infer that the one implies the others. */
function hasEnded(status: FlowStatus): Sql {
  return sql`c.status = ${literals([status])} and c.status in (${literals(flowMachine.terminal)})`;
}

/**
 * The newest by their last change. The last scanned row comes last, with `edge` set, so that a search by type can
 * continue from there.
 */
export function listNewest(dialect: Dialect, range: RunRange, limit: number): Sql {
  const { statuses, types, after } = range;
  const state = dialect.table("saga_state");
  const looked = types ? RUN_SCAN_MAX : limit;
  const open = statuses.filter((status) => OPEN_FLOWS.includes(status));
  const walks = statuses
    .filter((status) => !OPEN_FLOWS.includes(status))
    .map(
      (status) => sql`select * from (select c.saga_id, c.rested_at as updated_at from ${state} as c
        where ${hasEnded(status)} ${before(dialect, "c", after, "rested_at")}
        ${newestOf("c", looked, "rested_at")}) as walk`,
    );
  if (open.length > 0) {
    walks.push(sql`select * from (select d.saga_id, d.updated_at from ${someOpen(dialect, OPEN_MAX)} as d
      where d.status in (${literals(open)}) ${before(dialect, "d", after)} ${newestOf("d", looked)}) as walk`);
  }
  const only = types ? sql`where ${dialect.among(raw("s.saga_type"), types)}` : empty;
  // The empty text stops SQLite from scanning the whole table in the join.
  const joined = sql`from k join ${state} as s on s.saga_id = k.saga_id || ''`;
  return sql`with k as materialized (
      select u.saga_id, u.updated_at from (${join(walks, " union all ")}) as u ${newestOf("u", looked)})
    select * from (select ${runColumns(dialect)}, 0 as edge, 0 as looked ${joined} ${only} ${newestOf("s", limit)}) as hits
    union all
    select * from (select ${runColumns(dialect)}, 1 as edge, (select count(*) from k) as looked ${joined}
      order by s.updated_at, s.saga_id limit 1) as last`;
}

/** Runs of processes whose id begins with the prefix, and the run with exactly this id. */
export function listByPrefix(
  dialect: Dialect,
  prefix: string,
  types: readonly string[],
  { statuses, after }: Pick<RunRange, "statuses" | "after">,
  limit: number,
): Sql {
  const state = dialect.table("saga_state");
  const walks = types.map(
    (type) => sql`select * from (select * from ${state} as c where c.saga_type = ${type}
      and c.process_id >= ${prefix} and c.process_id < ${`${prefix}\u{10ffff}`}
      order by c.process_id, c.run limit ${PREFIX_MAX}) as walk`,
  );
  walks.push(sql`select * from ${state} as c where c.saga_id = ${prefix}`);
  return sql`select ${runColumns(dialect)} from (${join(walks, " union all ")}) as s
    where s.status in (${literals(statuses)}) ${before(dialect, "s", after)} ${newestOf("s", limit)}`;
}

/** The types of runs: one lookup in the primary key per type (a loose index scan). */
export function listTypes(dialect: Dialect, limit: number): Sql {
  const state = dialect.table("saga_state");
  const next = (from: Sql): Sql =>
    sql`(select c.saga_type from ${state} as c ${from} order by c.saga_type limit 1)`;
  return sql`with recursive found(name) as (
      select ${next(sql`where c.saga_type > ''`)} union all
      select ${next(sql`where c.saga_type > found.name`)} from found where found.name is not null)
    select name from found where name is not null limit ${limit}`;
}

/** The number of runs per state, counted up to `max`; the open states share one limit. */
export function countStatuses(dialect: Dialect, max: number): Sql {
  const counts = flowMachine.states.map((status) =>
    OPEN_FLOWS.includes(status)
      ? sql`(select count(*) from opened where opened.status = ${literals([status])}) as ${raw(status)}`
      : sql`(select count(*) from (select 1 from ${dialect.table("saga_state")} as c where ${hasEnded(status)} limit ${max + 1}) as counted) as ${raw(status)}`,
  );
  return sql`with opened as materialized (select d.status from ${someOpen(dialect, max + 1)} as d)
    select ${join(counts, ", ")}, (select count(*) from opened) as open`;
}

/** Stalled runs, along the index that holds only them. */
export function stalledRows(dialect: Dialect): Selection {
  const stalled = flowMachine.sources("resume");
  return {
    from: sql`${dialect.table("saga_state")} as s`,
    where: sql`s.status = ${literals(stalled)}`,
    at: raw("s.rested_at"),
    id: raw("s.saga_id"),
    columns: runColumns(dialect),
  };
}

/** The number of open runs whose progress is checked; the newest run is always checked. */
const PROGRESS_MAX = 100;

/** A text that changes whenever a run changes. */
export function changeSign(dialect: Dialect): Sql {
  const state = dialect.table("saga_state");
  const newest = sql`(select n.saga_id from ${state} as n where n.saga_id > '' order by n.saga_id desc limit 1)`;
  const open = sql`(select o.version from ${state} as o where o.status in (${literals(OPEN_FLOWS)})
    order by o.saga_type, o.process_id limit ${PROGRESS_MAX})`;
  const progress = sql`(select count(*) || ' ' || coalesce(sum(counted.version), 0) from ${open} as counted)`;
  return sql`coalesce(${newest}, '') || ' ' || coalesce(${progress}, '')`;
}
