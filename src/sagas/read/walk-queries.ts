/**
 * Walks along indexes of sagas, newest first by their last change. Every index that lists sagas ends with (name, status,
 * updated_at, id), behind what it is for: nothing, an attribute and its value, or the label of an error. A list is a union of one
 * short walk for each name and state, each limited, so that a page costs the same among a thousand sagas and among a million.
 * States are literals: with parameters no planner would choose a partial index.
 */
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";

/** What the walked index is for. Undefined: sagas whatever they have. */
export type Lead =
  | { readonly attribute: string; /** As JSON. */ readonly value: string }
  | { readonly error: string };

export interface SagaRange {
  readonly statuses: readonly SagaStatus[];
  /** Undefined: sagas of every name. */
  readonly names: readonly string[] | undefined;
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  /** The last saga of the previous page. */
  readonly after: readonly [atMs: number, id: string] | undefined;
  readonly lead?: Lead | undefined;
}

/** A table under the alias `c`, and its columns. */
interface Walked {
  readonly table: Sql;
  readonly where: Sql;
  /** The same for all that the index holds by name. */
  readonly whole: Sql;
  readonly id: Sql;
  readonly name: Sql;
  /** The index has a part for each state only behind the name. */
  readonly isByName: (status: SagaStatus) => boolean;
}

/**
 * The newest by their last change, as `select updated_at, id`. Until the rows of the page are known, only columns of the indexes are
 * read: an input may be long, and most rows that a walk passes are not shown.
 */
export function newest(dialect: Dialect, range: SagaRange, limit: number): Sql {
  const walks = walksOf(dialect, range, limit);
  return sql`${walks.names} select u.updated_at, u.id from (${walks.all}) as u
    order by u.updated_at desc, u.id desc limit ${limit}`;
}

/** How many there are, counted no further than `max + 1` for each name and state, and altogether. */
export function countWalked(dialect: Dialect, range: SagaRange, max: number): Sql {
  const walks = walksOf(dialect, range, max + 1);
  return sql`${walks.names} select count(*) as found from (select 1 from (${walks.all}) as u limit ${max + 1}) as counted`;
}

interface Walks {
  /** The names, where they are not given: `with recursive names(name) …`. */
  readonly names: Sql;
  readonly all: Sql;
}

function walksOf(dialect: Dialect, range: SagaRange, limit: number): Walks {
  const walked = walkedBy(dialect, range.lead);
  const direct: Sql[] = [];
  let isAnyByName = false;
  for (const status of range.statuses) {
    if (!range.names && walked.isByName(status)) {
      isAnyByName = true;
      direct.push(eachName(dialect, walk(dialect, walked, range, status, raw("names.name"), limit)));
      continue;
    }
    for (const name of range.names ?? [undefined])
      direct.push(sql`select * from (${walk(dialect, walked, range, status, name, limit)}) as walk`);
  }
  return { names: isAnyByName ? namesIn(walked) : empty, all: join(direct, " union all ") };
}

function walkedBy(dialect: Dialect, lead: Lead | undefined): Walked {
  const sagas = dialect.table("saga_executions");
  const own = { id: raw("c.id"), name: raw("c.name") };
  if (!lead)
    return {
      ...own,
      table: sagas,
      where: raw("true"),
      whole: raw("true"),
      // What has ended, and what is stalled, is also in an index of its state alone.
      isByName: (status) => CLAIMABLE.includes(status),
    };
  const isByName = (): boolean => true;
  if ("error" in lead) {
    const where = sql`c.error_label = ${lead.error}`;
    return { ...own, table: sagas, where, whole: where, isByName };
  }
  const where = sql`c.name = ${lead.attribute} and c.value = ${lead.value}`;
  const columns = { id: raw("c.saga_id"), name: raw("c.saga_name") };
  return { ...columns, table: dialect.table("saga_attributes"), where, whole: where, isByName };
}

/** One state, and one name if it is given. */
function walk(
  dialect: Dialect,
  { table, where, id, name }: Walked,
  { fromMs, toMs, after }: SagaRange,
  status: SagaStatus,
  of: string | Sql | undefined,
  limit: number,
): Sql {
  return sql`select c.updated_at, ${id} as id from ${table} as c
    where ${where} and ${inState(status)} ${of === undefined ? empty : sql`and ${name} = ${of}`}
      ${fromMs === undefined ? empty : sql`and c.updated_at >= ${dialect.instantOf(fromMs)}`}
      ${toMs === undefined ? empty : sql`and c.updated_at < ${dialect.instantOf(toMs)}`}
      ${after ? sql`and (c.updated_at, ${id}) < (${dialect.instantOf(after[0])}, ${after[1]})` : empty}
    order by c.updated_at desc, ${id} desc limit ${limit}`;
}

/** The walk for each of `names`. SQLite has no lateral joins: there the walk becomes a list of ids. */
function eachName(dialect: Dialect, query: Sql): Sql {
  return dialect.pick({
    postgres: sql`select walk.updated_at, walk.id from names cross join lateral (${query}) as walk where names.name is not null`,
    sqlite: sql`select x.updated_at, x.id from names
      join json_each((select json_group_array(listed.id) from (${query}) as listed)) as first
      join ${dialect.table("saga_executions")} as x on x.id = first.value where names.name is not null`,
  });
}

/** The names that the index has: each is found from the one before by one look. */
function namesIn({ table, whole, name }: Walked): Sql {
  const next = (before: Sql): Sql =>
    sql`(select ${name} from ${table} as c where ${whole} and ${name} > ${before} order by ${name} limit 1)`;
  return sql`with recursive names(name) as (
      select ${next(raw("''"))} union all select ${next(raw("names.name"))} from names where names.name is not null)`;
}

/** A state; of an ended one, beside it what the index of ended sagas holds: SQLite does not infer it. */
export function inState(status: SagaStatus): Sql {
  const ended = sagaMachine.terminal;
  const also = ended.includes(status) ? sql`and c.status in (${literals(ended)})` : empty;
  return sql`c.status = ${literals([status])} ${also}`;
}
