/**
 * What the console asks about sagas. Every list is a union of one short walk per state, each along an index and each
 * limited, so that a page costs the same among a thousand sagas and among a million. States are literals, or a planner
 * that does not know them would have to plan for all.
 */
import { CLAIMABLE, type SagaStatus } from "../core/saga/machine.ts";
import type { Dialect } from "../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../storage/sql.ts";
import type { Cursor } from "./cursor.ts";

export interface SagaFilter {
  readonly statuses: readonly SagaStatus[];
  /** Undefined: whatever its name. */
  readonly names?: readonly string[] | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly after?: Cursor | undefined;
}

export const SCAN_MAX = 2_000;

const LINE = ["id", "name", "status", "plan", "recovery_attempts"];
const INSTANTS = ["created_at", "updated_at"];

function lineColumns(dialect: Dialect, alias: string): Sql {
  const instants = INSTANTS.map((name) => sql`${dialect.epochMs(raw(`${alias}.${name}`))} as ${raw(name)}`);
  return join([raw(LINE.map((name) => `${alias}.${name}`).join(", ")), ...instants], ", ");
}

/**
 * The newest of them by their last change. Only what the indexes hold is looked at before it is known which ones they
 * are: an input may be long, and most rows that a walk passes are not shown.
 */
function newest(dialect: Dialect, filter: SagaFilter, limit: number): Sql {
  const { statuses, names, fromMs, toMs, after } = filter;
  const table = dialect.table("saga_executions");
  const walks = statuses.flatMap((status) =>
    (names ?? [undefined]).map(
      (name) => sql`select * from (select c.updated_at, c.id from ${table} as c
        where c.status = ${literals([status])} ${name === undefined ? empty : sql`and c.name = ${name}`}
          ${fromMs === undefined ? empty : sql`and c.updated_at >= ${dialect.instantOf(fromMs)}`}
          ${toMs === undefined ? empty : sql`and c.updated_at < ${dialect.instantOf(toMs)}`}
          ${after ? sql`and (c.updated_at, c.id) < (${dialect.instantOf(after.atMs)}, ${after.id})` : empty}
        order by c.updated_at desc, c.id desc limit ${limit}) as walk`,
    ),
  );
  return sql`select u.id from (${join(walks, " union all ")}) as u order by u.updated_at desc, u.id desc limit ${limit}`;
}

export function listLines(dialect: Dialect, filter: SagaFilter, limit: number): Sql {
  return sql`select ${lineColumns(dialect, "n")} from (${newest(dialect, filter, limit)}) as k
    join ${dialect.table("saga_executions")} as n on n.id = k.id order by n.updated_at desc, n.id desc`;
}

/** One piece of JSON text that a matching input contains; `folded` ones in small letters. */
export interface Fragment {
  readonly text: string;
  readonly folded: boolean;
}

/**
 * Looks into the inputs of the newest so many, and no further. The last row that was looked at comes last, with `edge`
 * set, so that the search can go on from there.
 */
export function searchLines(
  dialect: Dialect,
  filter: SagaFilter,
  fields: readonly (readonly Fragment[])[],
  limit: number,
): Sql {
  const has = ({ text, folded }: Fragment): Sql =>
    dialect.contains(folded ? sql`lower(n.context)` : raw("n.context"), text);
  const every = fields.map((fragments) => sql`(${join(fragments.map(has), " or ")})`);
  const columns = lineColumns(dialect, "s");
  return sql`with s as materialized (
      select n.id, n.name, n.status, n.plan, n.recovery_attempts, n.created_at, n.updated_at,
        case when ${join(every, " and ")} then 1 else 0 end as hit
      from (${newest(dialect, filter, SCAN_MAX)}) as k join ${dialect.table("saga_executions")} as n on n.id = k.id)
    select * from (select ${columns}, 0 as edge, 0 as looked from s where s.hit = 1
      order by s.updated_at desc, s.id desc limit ${limit}) as hits
    union all
    select * from (select ${columns}, 1 as edge, (select count(*) from s) as looked from s
      order by s.updated_at, s.id limit 1) as last`;
}

/** Sagas whose id begins like this, the last id first: ids that Amends makes sort by their age. */
export function listByPrefix(
  dialect: Dialect,
  prefix: string,
  { statuses, names, after }: SagaFilter,
  limit: number,
): Sql {
  const end = `${prefix}\u{10ffff}`;
  return sql`select ${lineColumns(dialect, "n")} from (
      select * from ${dialect.table("saga_executions")} as c
      where c.id >= ${prefix} and c.id < ${after && after.id < end ? after.id : end}
      order by c.id desc limit ${SCAN_MAX}) as n
    where n.status in (${literals(statuses)}) ${names ? sql`and ${dialect.among(raw("n.name"), names)}` : empty}
    order by n.id desc limit ${limit}`;
}

/** Every name that there is, one step of the index each. */
export function listNames(dialect: Dialect, limit: number): Sql {
  const table = dialect.table("saga_executions");
  return sql`with recursive names(name) as (
      select min(name) from ${table}
      union all
      select (select min(c.name) from ${table} as c where c.name > names.name) from names where names.name is not null)
    select name from names where name is not null limit ${limit}`;
}

/** How many there are of each state, counted no further than `max`. */
export function countStatuses(dialect: Dialect, statuses: readonly SagaStatus[], max: number): Sql {
  const table = dialect.table("saga_executions");
  const counts = statuses.map(
    (status) => sql`(select count(*) from (select 1 from ${table} as c
      where c.status = ${literals([status])} limit ${max + 1}) as counted) as ${raw(status.toLowerCase())}`,
  );
  return sql`select ${join(counts, ", ")}, ${dialect.epochMs(dialect.now())} as now_at`;
}

/** How many ended so in each of `count` stretches of time from an instant on, counted no further than `max`. */
export function countBuckets(
  dialect: Dialect,
  statuses: readonly SagaStatus[],
  { fromMs, widthMs, count, max }: { fromMs: number; widthMs: number; count: number; max: number },
): Sql {
  const table = dialect.table("saga_executions");
  const start = dialect.plusMs(dialect.instantOf(fromMs), sql`(r.n * ${widthMs})`);
  const end = dialect.plusMs(dialect.instantOf(fromMs), sql`((r.n + 1) * ${widthMs})`);
  const stretch = (status: SagaStatus): Sql => sql`from ${table} as c where c.status = ${literals([status])}
    and c.updated_at >= ${start} and c.updated_at < ${end} order by c.updated_at limit ${max}`;
  const counts = statuses.map(
    (status) =>
      sql`(select count(*) from (select 1 ${stretch(status)}) as counted) as ${raw(status.toLowerCase())}`,
  );
  // Where it stopped counting: from this and the number, the pace is known.
  const reached = sql`(select ${dialect.epochMs(raw("max(t.updated_at)"))} from (select c.updated_at ${stretch("COMPLETED")}) as t) as reached`;
  return sql`select r.n, ${join(counts, ", ")}, ${reached} from ${numbers(dialect, count)} order by r.n`;
}

/** How long the newest so many took, of those that completed since an instant. */
export function listDurations(dialect: Dialect, fromMs: number, limit: number): Sql {
  const [created, updated] = ["created_at", "updated_at"].map((name) => dialect.epochMs(raw(`c.${name}`)));
  return sql`select ${updated} - ${created} as took from ${dialect.table("saga_executions")} as c
    where c.status = 'COMPLETED' and c.updated_at >= ${dialect.instantOf(fromMs)}
    order by c.updated_at desc, c.id desc limit ${limit}`;
}

/**
 * What is due and how long it has been. The index of due sagas begins with the number of recoveries: each number is
 * looked up by itself. Budgets end far below the highest.
 */
export function selectBacklog(dialect: Dialect, max: number): Sql {
  const due = sql`from ${dialect.table("saga_executions")} as c
    where c.status in (${literals(CLAIMABLE)}) and c.recovery_attempts = r.n
      and ${dialect.gate(raw("c.next_attempt_at"))} <= ${dialect.now()}
    order by ${dialect.gate(raw("c.next_attempt_at"))}, c.id`;
  const waiting = dialect.epochMs(raw("coalesce(c.next_attempt_at, c.created_at)"));
  return sql`select (select ${waiting} ${due} limit 1) as since,
      (select count(*) from (select 1 ${due} limit ${max + 1}) as counted) as due,
      ${dialect.epochMs(dialect.now())} as now_at from ${numbers(dialect, RECOVERIES_MAX)}`;
}

const RECOVERIES_MAX = 100;
const NUMBERS = [{ name: "n", type: "int" }] as const;

/** The numbers from 0 on, as `r(n)`. */
function numbers(dialect: Dialect, count: number): Sql {
  return dialect.rows(
    NUMBERS,
    Array.from({ length: count }, (_, n) => [n]),
  );
}
