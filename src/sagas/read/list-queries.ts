/**
 * Lists of sagas. Every list is a union of one short walk per ended state, along its index, and one look at the open
 * sagas; each is limited, so a page costs the same among a thousand sagas and among a million. States are literals:
 * with parameters no planner would choose a partial index.
 */
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { gate } from "../../storage/claim.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { openLanes } from "../kinds/queries.ts";
import { lineColumns } from "./summary.ts";

export interface SagaRange {
  readonly statuses: readonly SagaStatus[];
  /** Undefined: sagas of every name. */
  readonly names: readonly string[] | undefined;
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  /** The last saga of the previous page. */
  readonly after: readonly [atMs: number, id: string] | undefined;
}

/** A search looks through this many sagas and no further. */
export const SCAN_MAX = 2_000;

/**
 * The newest by their last change. Until the rows of the page are known, only columns of the indexes are read: an input
 * may be long, and most rows that a walk passes are not shown.
 */
function newest(dialect: Dialect, range: SagaRange, limit: number): Sql {
  const { statuses, names, fromMs, toMs, after } = range;
  const open = statuses.filter((status) => CLAIMABLE.includes(status));
  const rest = statuses.filter((status) => !CLAIMABLE.includes(status));
  const within = (of: string): Sql => {
    const [updated, id] = [raw(`${of}.updated_at`), raw(`${of}.id`)];
    return sql`${fromMs === undefined ? empty : sql`and ${updated} >= ${dialect.instantOf(fromMs)}`}
      ${toMs === undefined ? empty : sql`and ${updated} < ${dialect.instantOf(toMs)}`}
      ${after ? sql`and (${updated}, ${id}) < (${dialect.instantOf(after[0])}, ${after[1]})` : empty}
      order by ${updated} desc, ${id} desc limit ${limit}`;
  };
  const walks = rest.flatMap((status) =>
    (names ?? [undefined]).map(
      (name) => sql`select * from (select c.updated_at, c.id from ${dialect.table("saga_executions")} as c
        where ${inState(status)} ${name === undefined ? empty : sql`and c.name = ${name}`} ${within("c")}) as walk`,
    ),
  );
  if (open.length > 0) {
    for (const name of names ?? [undefined])
      walks.push(sql`select * from (select d.updated_at, d.id from ${someOpen(dialect, OPEN_SCAN_MAX, name)} as d
        where d.status in (${literals(open)}) ${within("d")}) as walk`);
  }
  return sql`select u.id from (${join(walks, " union all ")}) as u order by u.updated_at desc, u.id desc limit ${limit}`;
}

/** Open sagas are read kind by kind, and no further than this: usually there are few. */
const OPEN_SCAN_MAX = 5_000;

/** Open sagas as a relation, of every name or of one. They have one index, that of due sagas, and are read along it. */
export function someOpen(dialect: Dialect, limit: number, name?: string): Sql {
  // A kind begins with the name and `@`; `A` is the character after it.
  const named = name === undefined ? empty : sql`and o.kind >= ${`${name}@`} and o.kind < ${`${name}A`}`;
  return sql`(select o.id, o.name, o.status, o.plan, o.token, o.created_at, o.updated_at
    from ${dialect.table("saga_executions")} as o where o.status in (${literals(CLAIMABLE)}) ${named}
    order by o.kind, o.recovery_attempts, ${gate(dialect, raw("o.next_attempt_at"))}, o.id limit ${limit})`;
}

/** A state, and beside it all states of its index: SQLite does not infer that one is among the others. */
export function inState(status: SagaStatus): Sql {
  const ended = sagaMachine.terminal;
  const also = ended.includes(status) ? sql` and c.status in (${literals(ended)})` : empty;
  return sql`c.status = ${literals([status])}${also}`;
}

export function listLines(dialect: Dialect, range: SagaRange, limit: number): Sql {
  return sql`select ${lineColumns(dialect, "n")} from (${newest(dialect, range, limit)}) as k
    join ${dialect.table("saga_executions")} as n on n.id = k.id order by n.updated_at desc, n.id desc`;
}

/** One piece of JSON text that a matching input contains; `folded` ones are in lower case. */
export interface Fragment {
  readonly text: string;
  readonly folded: boolean;
}

/**
 * Looks into the inputs of the newest sagas. The last row that was looked at comes last, with `edge` set, so that the
 * search can go on from there.
 */
export function searchLines(
  dialect: Dialect,
  range: SagaRange,
  fields: readonly (readonly Fragment[])[],
  limit: number,
): Sql {
  const find = dialect.pick({ postgres: raw("strpos"), sqlite: raw("instr") });
  const has = ({ text, folded }: Fragment): Sql =>
    sql`${find}(${folded ? raw("lower(n.context)") : raw("n.context")}, ${text}) > 0`;
  const every = fields.map((fragments) => sql`(${join(fragments.map(has), " or ")})`);
  const columns = lineColumns(dialect, "s");
  return sql`with s as materialized (
      select n.id, n.name, n.status, n.plan, n.token, n.created_at, n.updated_at,
        case when ${join(every, " and ")} then 1 else 0 end as hit
      from (${newest(dialect, range, SCAN_MAX)}) as k join ${dialect.table("saga_executions")} as n on n.id = k.id)
    select * from (select ${columns}, 0 as edge, 0 as looked from s where s.hit = 1
      order by s.updated_at desc, s.id desc limit ${limit}) as hits
    union all
    select * from (select ${columns}, 1 as edge, (select count(*) from s) as looked from s
      order by s.updated_at, s.id limit 1) as last`;
}

/** Sagas whose id begins with the prefix, the last id first: ids that Amends makes sort by their age. */
export function listByPrefix(
  dialect: Dialect,
  prefix: string,
  { statuses, names, after }: SagaRange,
  limit: number,
): Sql {
  const end = `${prefix}\u{10ffff}`;
  return sql`select ${lineColumns(dialect, "p")} from (
      select * from ${dialect.table("saga_executions")} as c
      where c.id >= ${prefix} and c.id < ${after && after[1] < end ? after[1] : end}
      order by c.id desc limit ${SCAN_MAX}) as p
    where p.status in (${literals(statuses)}) ${names ? sql`and ${dialect.among(raw("p.name"), names)}` : empty}
    order by p.id desc limit ${limit}`;
}

/** The names of sagas. Each name of ended sagas is found from the previous one by one look at their index. */
export function listNames(dialect: Dialect, limit: number): Sql {
  const table = dialect.table("saga_executions");
  const next = (before: Sql): Sql =>
    sql`(select c.name from ${table} as c where c.status in (${literals(sagaMachine.terminal)}) and c.name > ${before}
      order by c.name limit 1)`;
  const stalled = sql`select c.name from ${table} as c where ${inState("STALLED")} limit ${NAMES_SCAN_MAX}`;
  const open = sql`select (select o.name from ${table} as o where o.status in (${literals(CLAIMABLE)}) and o.kind = lanes.lane
      order by o.kind, o.recovery_attempts limit 1) as name from lanes where lanes.lane is not null`;
  return sql`with recursive ${openLanes(dialect)}, found(name) as (
      select ${next(raw("''"))} union all select ${next(raw("found.name"))} from found where found.name is not null)
    select name from (
      select * from (select name from found where name is not null limit ${limit}) as walk
      union select * from (${open}) as walk where walk.name is not null
      union select * from (${stalled}) as walk) as u order by name limit ${limit}`;
}

/** The names of this many stalled sagas are looked at. */
const NAMES_SCAN_MAX = 1_000;
