/** Lists of sagas: pages of walks along indexes, searches through a bounded part of them, and lists by id. */
import { CLAIMABLE } from "../../core/saga/machine.ts";
import { byPriority } from "../../storage/claim.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { lineColumns, plainColumns } from "./line-queries.ts";
import { newest, type Lead, type SagaRange } from "./walk-queries.ts";

/** A search looks through this many sagas and no further. */
export const SCAN_MAX = 2_000;

/** Open sagas as a relation, of every name or of one. They have one index, that of due sagas, and are read along it. */
export function someOpen(dialect: Dialect, limit: number, name?: string): Sql {
  // A kind begins with the name and `@`; `A` is the character after it.
  const named = name === undefined ? empty : sql`and o.kind >= ${`${name}@`} and o.kind < ${`${name}A`}`;
  return sql`(select ${plainColumns("o")}
    from ${dialect.table("saga_executions")} as o where o.status in (${literals(CLAIMABLE)}) ${named}
    order by o.kind, o.recovery_attempts, ${raw(byPriority(dialect, "o."))}, o.id limit ${limit})`;
}

/** Joins the rows of the sagas in `k`. SQLite keeps this order of a join, and would otherwise read all sagas first. */
function rowsOf(dialect: Dialect): Sql {
  const joined = dialect.pick({ postgres: raw("join"), sqlite: raw("cross join") });
  return sql`${joined} ${dialect.table("saga_executions")} as n on n.id = k.id`;
}

export function listLines(dialect: Dialect, range: SagaRange, limit: number): Sql {
  return sql`select ${lineColumns(dialect, "n")} from (${newest(dialect, range, limit)}) as k
    ${rowsOf(dialect)} order by n.updated_at desc, n.id desc`;
}

/** One piece of JSON text that a matching input contains; `folded` ones are in lower case. */
export interface Fragment {
  readonly text: string;
  readonly folded: boolean;
}

/** What is looked at of each saga that a search passes. */
export interface Sought {
  /** Its input contains one fragment of each. */
  readonly fields: readonly (readonly Fragment[])[];
  /** It has each of these, beside what the walk is for. */
  readonly marks: readonly Lead[];
}

/**
 * Looks at the newest sagas. The last row that was looked at comes last, with `edge` set, so that the search can go on from
 * there.
 */
export function searchLines(dialect: Dialect, range: SagaRange, sought: Sought, limit: number): Sql {
  const find = dialect.pick({ postgres: raw("strpos"), sqlite: raw("instr") });
  const has = ({ text, folded }: Fragment): Sql =>
    sql`${find}(${folded ? raw("lower(n.context)") : raw("n.context")}, ${text}) > 0`;
  const every = [
    ...sought.marks.map((mark) => isMarked(dialect, mark, "n")),
    ...sought.fields.map((fragments) => sql`(${join(fragments.map(has), " or ")})`),
  ];
  const columns = lineColumns(dialect, "s");
  return sql`with s as materialized (
      select ${plainColumns("n")},
        case when ${join(every, " and ")} then 1 else 0 end as hit
      from (${newest(dialect, range, SCAN_MAX)}) as k ${rowsOf(dialect)})
    select * from (select ${columns}, 0 as edge, 0 as looked from s where s.hit = 1
      order by s.updated_at desc, s.id desc limit ${limit}) as hits
    union all
    select * from (select ${columns}, 1 as edge, (select count(*) from s) as looked from s
      order by s.updated_at, s.id limit 1) as last`;
}

/** How many of the newest `max` sagas are marked, and how many were looked at. */
export function countMarked(dialect: Dialect, range: SagaRange, marks: readonly Lead[], max: number): Sql {
  const every = join(
    marks.map((mark) => isMarked(dialect, mark, "n")),
    " and ",
  );
  return sql`select count(*) as looked, coalesce(sum(case when ${every} then 1 else 0 end), 0) as found
    from (${newest(dialect, range, max)}) as k ${rowsOf(dialect)}`;
}

function isMarked(dialect: Dialect, mark: Lead, alias: string): Sql {
  if ("error" in mark) return sql`coalesce(${raw(alias)}.error_label, '') = ${mark.error}`;
  return sql`exists (select 1 from ${dialect.table("saga_attributes")} as a
    where a.saga_id = ${raw(alias)}.id and a.name = ${mark.attribute} and a.value = ${mark.value})`;
}

/** How many sagas have each of these marks, counted no further than `max`, as the columns `mark_0` and so on. */
export function countEach(dialect: Dialect, marks: readonly Lead[], max: number): Sql {
  const counts = marks.map((mark, index) => {
    const rows =
      "error" in mark
        ? sql`${dialect.table("saga_executions")} as c where c.error_label = ${mark.error}`
        : sql`${dialect.table("saga_attributes")} as c where c.name = ${mark.attribute} and c.value = ${mark.value}`;
    return sql`(select count(*) from (select 1 from ${rows} limit ${max}) as counted) as ${raw(`mark_${index}`)}`;
  });
  return sql`select ${join(counts, ", ")}`;
}

/** Sagas whose id begins with the prefix, the last id first: ids that Amends makes sort by their age. */
export function listByPrefix(
  dialect: Dialect,
  prefix: string,
  { statuses, names, after }: SagaRange,
  marks: readonly Lead[],
  limit: number,
): Sql {
  const end = `${prefix}\u{10ffff}`;
  return sql`select ${lineColumns(dialect, "p")} from (
      select * from ${dialect.table("saga_executions")} as c
      where c.id >= ${prefix} and c.id < ${after && after[1] < end ? after[1] : end}
      order by c.id desc limit ${SCAN_MAX}) as p
    where p.status in (${literals(statuses)}) ${names ? sql`and ${dialect.among(raw("p.name"), names)}` : empty}
      ${join([empty, ...marks.map((mark) => isMarked(dialect, mark, "p"))], " and ")}
    order by p.id desc limit ${limit}`;
}

/** The names of sagas: each is found from the one before by one look at the index. */
export function listNames(dialect: Dialect, limit: number): Sql {
  const next = (before: string): Sql =>
    sql`(select c.name from ${dialect.table("saga_executions")} as c where c.name > ${raw(before)} order by c.name limit 1)`;
  return sql`with recursive names(name) as (select ${next("''")}
      union all select ${next("names.name")} from names where names.name is not null)
    select name from names where name is not null limit ${limit}`;
}
