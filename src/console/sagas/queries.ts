/**
 * What the console asks about sagas. Every list is a union of one short walk per state that ended, along its index, and
 * one look at what is open; each is limited, so that a page costs the same among a thousand sagas and among a million.
 * States are literals, or a planner that does not know them would have to plan for all.
 */
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { gate } from "../../storage/claim.ts";
import type { Dialect } from "../../storage/database.ts";
import { joinFirst } from "../../storage/first-rows.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import type { Cursor } from "../http/cursor.ts";

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

export function lineColumns(dialect: Dialect, alias: string): Sql {
  const instants = INSTANTS.map((name) => sql`${dialect.epochMs(raw(`${alias}.${name}`))} as ${raw(name)}`);
  return join([raw(LINE.map((name) => `${alias}.${name}`).join(", ")), ...instants], ", ");
}

/**
 * The newest of them by their last change. Only what the indexes hold is looked at before it is known which ones they
 * are: an input may be long, and most rows that a walk passes are not shown.
 */
function newest(dialect: Dialect, filter: SagaFilter, limit: number): Sql {
  const { statuses, names, fromMs, toMs, after } = filter;
  const open = statuses.filter((status) => CLAIMABLE.includes(status));
  const rest = statuses.filter((status) => !CLAIMABLE.includes(status));
  const within = (of: string): Sql => {
    const [updated, id] = [raw(`${of}.updated_at`), raw(`${of}.id`)];
    return sql`${fromMs === undefined ? empty : sql`and ${updated} >= ${dialect.instantOf(fromMs)}`}
      ${toMs === undefined ? empty : sql`and ${updated} < ${dialect.instantOf(toMs)}`}
      ${after ? sql`and (${updated}, ${id}) < (${dialect.instantOf(after.atMs)}, ${after.id})` : empty}
      order by ${updated} desc, ${id} desc limit ${limit}`;
  };
  const walks = rest.flatMap((status) =>
    (names ?? [undefined]).map(
      (name) => sql`select * from (select c.updated_at, c.id from ${dialect.table("saga_executions")} as c
        where ${inState(status)} ${name === undefined ? empty : sql`and c.name = ${name}`} ${within("c")}) as walk`,
    ),
  );
  if (open.length > 0) {
    walks.push(sql`select * from (select d.updated_at, d.id from ${someOpen(dialect, OPEN_SCAN_MAX)} as d
      where d.status in (${literals(open)}) ${names ? sql`and ${dialect.among(raw("d.name"), names)}` : empty} ${within("d")}) as walk`);
  }
  return sql`select u.id from (${join(walks, " union all ")}) as u order by u.updated_at desc, u.id desc limit ${limit}`;
}

/** What is open is read in the order in which it is due, and no further than this: usually it is little. */
const OPEN_SCAN_MAX = 5_000;

/** Open sagas, as a relation: they have one index, that of due ones, and are read along it. */
export function someOpen(dialect: Dialect, limit: number): Sql {
  return sql`(select o.id, o.name, o.status, o.plan, o.recovery_attempts, o.created_at, o.updated_at
    from ${dialect.table("saga_executions")} as o where o.status in (${literals(CLAIMABLE)})
    order by o.recovery_attempts, ${gate(dialect, raw("o.next_attempt_at"))}, o.id limit ${limit})`;
}

/** A state, and beside it the states of its index: SQLite does not see by itself that one is among the others. */
export function inState(status: SagaStatus): Sql {
  const ended = sagaMachine.terminal;
  const also = ended.includes(status) ? sql` and c.status in (${literals(ended)})` : empty;
  return sql`c.status = ${literals([status])}${also}`;
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
  const find = dialect.pick({ postgres: raw("strpos"), sqlite: raw("instr") });
  const has = ({ text, folded }: Fragment): Sql =>
    sql`${find}(${folded ? raw("lower(n.context)") : raw("n.context")}, ${text}) > 0`;
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
  return sql`select ${lineColumns(dialect, "p")} from (
      select * from ${dialect.table("saga_executions")} as c
      where c.id >= ${prefix} and c.id < ${after && after.id < end ? after.id : end}
      order by c.id desc limit ${SCAN_MAX}) as p
    where p.status in (${literals(statuses)}) ${names ? sql`and ${dialect.among(raw("p.name"), names)}` : empty}
    order by p.id desc limit ${limit}`;
}

/** The names that there are: of ended sagas each is found from the one before it by one look at their index. */
export function listNames(dialect: Dialect, limit: number): Sql {
  const table = dialect.table("saga_executions");
  const next = (before: Sql): Sql =>
    sql`(select c.name from ${table} as c where c.status in (${literals(sagaMachine.terminal)}) and c.name > ${before}
      order by c.name limit 1)`;
  const stalled = sql`select c.name from ${table} as c where ${inState("STALLED")} limit ${NAMES_SCAN_MAX}`;
  return sql`with recursive found(name) as (
      select ${next(raw("''"))} union all select ${next(raw("found.name"))} from found where found.name is not null)
    select name from (
      select * from (select name from found where name is not null limit ${limit}) as walk
      union select d.name from ${someOpen(dialect, NAMES_SCAN_MAX)} as d
      union select * from (${stalled}) as walk) as u order by name limit ${limit}`;
}

/** Of so many that are open or stalled the names are looked at. */
const NAMES_SCAN_MAX = 1_000;

/** How many there are of each state, counted no further than `max`: of the open ones, than `max` altogether. */
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

/** How many ended so in each of `count` stretches of time from an instant on, counted no further than `max`. */
export function countBuckets(
  dialect: Dialect,
  statuses: readonly SagaStatus[],
  { fromMs, widthMs, count, max }: { fromMs: number; widthMs: number; count: number; max: number },
): Sql {
  const table = dialect.table("saga_executions");
  const start = dialect.plusMs(dialect.instantOf(fromMs), sql`(r.n * ${widthMs})`);
  const end = dialect.plusMs(dialect.instantOf(fromMs), sql`((r.n + 1) * ${widthMs})`);
  const stretch = (status: SagaStatus): Sql => sql`from ${table} as c where ${inState(status)}
    and c.updated_at >= ${start} and c.updated_at < ${end} order by c.updated_at limit ${max}`;
  const counts = statuses.map(
    (status) =>
      sql`(select count(*) from (select 1 ${stretch(status)}) as counted) as ${raw(status.toLowerCase())}`,
  );
  // Where it stopped counting: from this and the number, the pace is known.
  const reached = sql`(select ${dialect.epochMs(raw("max(t.updated_at)"))} from (select c.updated_at ${stretch("COMPLETED")}) as t) as reached`;
  return sql`select r.n, ${join(counts, ", ")}, ${reached} from ${numbers(dialect, count)} order by r.n`;
}

/**
 * Of the newest so many that completed in each stretch: how long each took and, unless it was taken over, how long it
 * had waited until a worker took it, as two numbers in a text.
 */
export function listHistory(
  dialect: Dialect,
  { fromMs, widthMs, count, sample }: { fromMs: number; widthMs: number; count: number; sample: number },
): Sql {
  const start = dialect.plusMs(dialect.instantOf(fromMs), sql`(r.n * ${widthMs})`);
  const end = dialect.plusMs(dialect.instantOf(fromMs), sql`((r.n + 1) * ${widthMs})`);
  const ms = (name: string): Sql => dialect.epochMs(raw(`c.${name}`));
  const waited = sql`case when c.recovery_attempts = 0 then coalesce(${ms("last_attempt_at")} - ${ms("created_at")}, 0) else 0 end`;
  const query = sql`select cast(${ms("updated_at")} - ${ms("created_at")} as text) || ' ' || cast(${waited} as text) as value
    from ${dialect.table("saga_executions")} as c where ${inState("COMPLETED")}
      and c.updated_at >= ${start} and c.updated_at < ${end} order by c.updated_at desc`;
  return sql`select r.n, first.value from ${numbers(dialect, count)} ${joinFirst(dialect, query, sql`${sample}`, sample)}`;
}

/** How long the newest so many took, of those that completed since an instant. */
export function listDurations(dialect: Dialect, fromMs: number, limit: number): Sql {
  const [created, updated] = ["created_at", "updated_at"].map((name) => dialect.epochMs(raw(`c.${name}`)));
  return sql`select ${updated} - ${created} as took from ${dialect.table("saga_executions")} as c
    where ${inState("COMPLETED")} and c.updated_at >= ${dialect.instantOf(fromMs)}
    order by c.updated_at desc, c.id desc limit ${limit}`;
}

const NUMBERS = [{ name: "n", type: "int" }] as const;

/** The numbers from 0 on, as `r(n)`. */
function numbers(dialect: Dialect, count: number): Sql {
  return dialect.rows(
    NUMBERS,
    Array.from({ length: count }, (_, n) => [n]),
  );
}
