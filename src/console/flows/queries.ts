/**
 * What the console asks about event flows. A list is a union of one short walk per state that ended, along its index,
 * and one look at what is open; where only some types are wanted, it looks through a stretch and no further.
 */
import { flowMachine, OPEN_FLOWS, type FlowStatus } from "../../core/flow/machine.ts";
import { runColumns } from "../../events/store/run-queries.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import type { Cursor } from "../http/cursor.ts";

export interface FlowFilter {
  readonly statuses: readonly FlowStatus[];
  /** Undefined: whatever its type. */
  readonly types: readonly string[] | undefined;
  readonly after: Cursor | undefined;
}

export const FLOW_SCAN_MAX = 2_000;
/** What is open is read along its index, and no further than this: usually it is little. */
const OPEN_MAX = 5_000;
/** So many processes that begin alike are looked at, of each type. */
const PREFIX_MAX = 500;

/** When a run that is at rest came there is when it changed last: its index is by that. */
type Instant = "updated_at" | "rested_at";

function before(
  dialect: Dialect,
  of: string,
  after: Cursor | undefined,
  instant: Instant = "updated_at",
): Sql {
  const [updated, id] = [raw(`${of}.${instant}`), raw(`${of}.saga_id`)];
  return after ? sql`and (${updated}, ${id}) < (${dialect.instantOf(after.atMs)}, ${after.id})` : empty;
}

function newestOf(of: string, limit: number, instant: Instant = "updated_at"): Sql {
  return sql`order by ${raw(`${of}.${instant}`)} desc, ${raw(of)}.saga_id desc limit ${limit}`;
}

/** Open runs as a relation, along the index that holds just them. */
function someOpen(dialect: Dialect, limit: number): Sql {
  return sql`(select o.saga_id, o.status, o.updated_at from ${dialect.table("saga_state")} as o
    where o.status in (${literals(OPEN_FLOWS)}) order by o.saga_type, o.process_id limit ${limit})`;
}

/** A state, and beside it the states of its index: SQLite does not see by itself that one is among the others. */
function hasEnded(status: FlowStatus): Sql {
  return sql`c.status = ${literals([status])} and c.status in (${literals(flowMachine.terminal)})`;
}

/**
 * The newest by their last change. The last row that was looked at comes last, with `edge` set, so that a search for
 * some types can go on from there.
 */
export function listFlows(dialect: Dialect, filter: FlowFilter, limit: number): Sql {
  const { statuses, types, after } = filter;
  const state = dialect.table("saga_state");
  const looked = types ? FLOW_SCAN_MAX : limit;
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
  // The empty text keeps SQLite from going the other way: from each run of the table to those that were picked.
  const joined = sql`from k join ${state} as s on s.saga_id = k.saga_id || ''`;
  return sql`with k as materialized (
      select u.saga_id, u.updated_at from (${join(walks, " union all ")}) as u ${newestOf("u", looked)})
    select * from (select ${runColumns(dialect)}, 0 as edge, 0 as looked ${joined} ${only} ${newestOf("s", limit)}) as hits
    union all
    select * from (select ${runColumns(dialect)}, 1 as edge, (select count(*) from k) as looked ${joined}
      order by s.updated_at, s.saga_id limit 1) as last`;
}

/** Runs of processes whose id begins like this, and the run with exactly this id. */
export function findFlows(
  dialect: Dialect,
  prefix: string,
  types: readonly string[],
  { statuses, after }: Pick<FlowFilter, "statuses" | "after">,
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

/** The types that there are, each found from the one before it by one look at the primary key. */
export function listTypes(dialect: Dialect, limit: number): Sql {
  const state = dialect.table("saga_state");
  const next = (from: Sql): Sql =>
    sql`(select c.saga_type from ${state} as c ${from} order by c.saga_type limit 1)`;
  return sql`with recursive found(name) as (
      select ${next(sql`where c.saga_type > ''`)} union all
      select ${next(sql`where c.saga_type > found.name`)} from found where found.name is not null)
    select name from found where name is not null limit ${limit}`;
}

/** What was sent out for a run, oldest first, with what it carries and by what it was brought on. */
export function selectFlowEvents(dialect: Dialect, trail: readonly string[]): Sql {
  const ids = dialect.rows(
    [{ name: "row_id", type: "uuid" }],
    trail.map((id) => [id]),
  );
  return sql`select c.entry_id, c.event_id, c.causation, c.name, c.handler, c.status, c.attempts, c.last_error, c.payload,
      ${dialect.epochMs(raw("c.enqueued_at"))} as enqueued_at, ${dialect.epochMs(raw("c.last_attempt_at"))} as last_attempt_at
    from ${ids} join ${dialect.table("outbox")} as c on c.entry_id = r.row_id
    order by c.enqueued_at, c.event_id, c.entry_id`;
}

/** How many there are of each state, counted no further than `max`: of the open ones, than `max` altogether. */
export function countFlows(dialect: Dialect, max: number): Sql {
  const counts = flowMachine.states.map((status) =>
    OPEN_FLOWS.includes(status)
      ? sql`(select count(*) from opened where opened.status = ${literals([status])}) as ${raw(status)}`
      : sql`(select count(*) from (select 1 from ${dialect.table("saga_state")} as c where ${hasEnded(status)} limit ${max + 1}) as counted) as ${raw(status)}`,
  );
  return sql`with opened as materialized (select d.status from ${someOpen(dialect, max + 1)} as d)
    select ${join(counts, ", ")}, (select count(*) from opened) as open`;
}
