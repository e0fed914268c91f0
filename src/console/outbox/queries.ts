/**
 * What the console asks about the outbox. Ids that Amends makes sort by their age, so that the primary key is the way
 * from the newest back; where only a few rows on it fit, it is followed for a stretch and no further.
 */
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import { ENTRY } from "../../outbox/rows.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";

export interface EntryFilter {
  readonly statuses: readonly OutboxStatus[];
  readonly kind: string | undefined;
  readonly subjectId: string | undefined;
  readonly resolver: string | undefined;
  /** The id of the last entry of the page before. */
  readonly after: string | undefined;
}

/** Below every id: with it, each database sees that it goes along the key from one place to another. */
export const NIL = "00000000-0000-0000-0000-000000000000";

export const ENTRY_SCAN_MAX = 2_000;

/** The last row that was looked at comes last, with `edge` set, so that a search can go on from there. */
export function listEntries(dialect: Dialect, filter: EntryFilter, limit: number): Sql {
  const { statuses, kind, resolver, after } = filter;
  const columns = ENTRY.columns(dialect, "s");
  const fits = [
    ...(statuses.length > 0 ? [sql`s.status in (${literals(statuses)})`] : []),
    ...(kind === undefined ? [] : [sql`s.kind = ${kind}`]),
    ...(resolver === undefined ? [] : [sql`s.name = ${resolver}`]),
  ];
  const where = fits.length > 0 ? sql`where ${join(fits, " and ")}` : empty;
  return sql`with s as materialized (
      select * from ${dialect.table("outbox")} as c
      where c.entry_id > ${literals([NIL])} ${after === undefined ? empty : sql`and c.entry_id < ${after}`} order by c.entry_id desc limit ${ENTRY_SCAN_MAX})
    select * from (select ${columns}, 0 as edge, 0 as looked from s ${where} order by s.entry_id desc limit ${limit}) as hits
    union all
    select * from (select ${columns}, 1 as edge, (select count(*) from s) as looked from s order by s.entry_id limit 1) as last`;
}

/** What a subject's requests still wait for. */
export function listOpenOf(dialect: Dialect, subjectId: string, limit: number): Sql {
  const open = outboxMachine.states.filter((state) => !outboxMachine.isTerminal(state));
  return sql`select ${ENTRY.columns(dialect, "c")} from ${dialect.table("outbox")} as c
    where c.subject_id = ${subjectId} and c.kind = 'erasure' and c.status in (${literals(open)})
    order by c.operation, c.entry_id limit ${limit}`;
}

/** The newest abandoned ones: there may be few among very many. */
export function listAbandoned(
  dialect: Dialect,
  kinds: readonly string[],
  after: string | undefined,
  limit: number,
): Sql {
  const walks = kinds.map(
    (kind) => sql`select * from (select ${ENTRY.columns(dialect, "c")} from ${dialect.table("outbox")} as c
      where c.status = 'abandoned' and c.kind = ${literals([kind])}
        ${after === undefined ? empty : sql`and c.entry_id < ${after}`}
      order by c.enqueued_at desc, c.entry_id desc limit ${limit}) as walk`,
  );
  return sql`select * from (${join(walks, " union all ")}) as u order by u.entry_id desc limit ${limit}`;
}

export function selectEntry(dialect: Dialect, id: string): Sql {
  return sql`select ${ENTRY.columns(dialect, "c")} from ${dialect.table("outbox")} as c where c.entry_id = ${id}`;
}

/** Open ones by state, counted no further than `max`. What is done with is not counted: it is only ever more. */
export function countEntries(dialect: Dialect, kinds: readonly string[], max: number): Sql {
  const table = dialect.table("outbox");
  const open = outboxMachine.states.filter((state) => !outboxMachine.isTerminal(state));
  const claimable = outboxMachine.sources("claim");
  const inKinds = sql`c.kind in (${literals(kinds)})`;
  // An event that no process has a handler for waits for none of the workers.
  const claimed = kinds.filter((kind) => kind !== "event");
  // The index of due entries holds exactly the claimable states: what it gives is told apart afterwards.
  const due = sql`(select c.status from ${table} as c where c.kind in (${literals(claimed)}) and c.status in (${literals(claimable)}) limit ${max + 1})`;
  const counts = open.map((status) =>
    claimable.includes(status)
      ? sql`(select count(*) from due where due.status = ${literals([status])}) as ${raw(status)}`
      : sql`(select count(*) from (select 1 from ${table} as c where ${inKinds} and c.status = ${literals([status])} limit ${max + 1}) as counted) as ${raw(status)}`,
  );
  return sql`with due as materialized ${due} select ${join(counts, ", ")}`;
}
