/**
 * Lists of the outbox. Ids that Amends makes sort by age, so lists scan the primary key backward; with a filter, a
 * statement scans a bounded number of rows.
 */
import { OUTBOX_KINDS, type OutboxKind } from "../../core/outbox/entry.ts";
import { BLOCKING, settled, type OutboxStatus } from "../../core/outbox/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Selection } from "../../storage/read/selection.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { idRows } from "../queries.ts";
import { LISTED } from "./entry.ts";

function inStatus(dialect: Dialect, kind: OutboxKind, status: OutboxStatus, at: Sql): Selection {
  return {
    from: sql`${dialect.table("outbox")} as c`,
    where: sql`c.status = ${literals([status])} and c.kind = ${literals([kind])}`,
    at,
    id: raw("c.entry_id"),
    columns: LISTED.columns(dialect, "c"),
  };
}

/** Abandoned entries, by the instant at which they were enqueued. */
export function abandonedRows(dialect: Dialect, kind: OutboxKind): Selection {
  return inStatus(dialect, kind, settled("abandon"), raw("c.enqueued_at"));
}

/** Entries that wait for an expiry date, by that date. */
export function scheduledRows(dialect: Dialect, kind: OutboxKind): Selection {
  return inStatus(dialect, kind, settled("park"), raw("c.next_attempt_at"));
}

export interface EntryRange {
  readonly statuses: readonly OutboxStatus[];
  /** Empty: every kind. */
  readonly kinds: readonly OutboxKind[];
  readonly name: string | undefined;
  /** The id of the last entry of the previous page. */
  readonly after: string | undefined;
}

/** Below every id: this bound lets each database scan the primary key. */
export const LOWEST_ID = "00000000-0000-0000-0000-000000000000";

/** The number of entries that a list with a filter scans. */
export const ENTRY_SCAN_MAX = 2_000;

/** The last scanned row comes last, with `edge` set, so that a search can continue from there. */
export function listNewest(dialect: Dialect, range: EntryRange, limit: number): Sql {
  const { statuses, kinds, name, after } = range;
  const columns = LISTED.columns(dialect, "s");
  const fits = [
    ...(statuses.length > 0 ? [sql`s.status in (${literals(statuses)})`] : []),
    ...(kinds.length > 0 ? [sql`s.kind in (${literals(kinds)})`] : []),
    ...(name === undefined ? [] : [sql`s.name = ${name}`]),
  ];
  const where = fits.length > 0 ? sql`where ${join(fits, " and ")}` : empty;
  return sql`with s as materialized (
      select * from ${dialect.table("outbox")} as c
      where c.entry_id > ${literals([LOWEST_ID])} ${after === undefined ? empty : sql`and c.entry_id < ${after}`} order by c.entry_id desc limit ${ENTRY_SCAN_MAX})
    select * from (select ${columns}, 0 as edge, 0 as looked from s ${where} order by s.entry_id desc limit ${limit}) as hits
    union all
    select * from (select ${columns}, 1 as edge, (select count(*) from s) as looked from s order by s.entry_id limit 1) as last`;
}

/** The open entries of a subject's requests. */
export function listOpenOf(dialect: Dialect, subjectId: string, limit: number): Sql {
  return sql`select ${LISTED.columns(dialect, "c")} from ${dialect.table("outbox")} as c
    where c.subject_id = ${subjectId} and c.kind = 'erasure' and c.status in (${literals(BLOCKING)})
    order by c.operation, c.entry_id limit ${limit}`;
}

/** The number of open entries of these subjects' requests, by subject and operation. */
export function countOpenOf(dialect: Dialect, subjectIds: readonly string[]): Sql {
  return sql`select c.subject_id, c.operation, count(*) as entries,
      sum(case when c.status = ${literals([settled("abandon")])} then 1 else 0 end) as abandoned from ${dialect.table("outbox")} as c
    where ${dialect.among(raw("c.subject_id"), subjectIds)} and c.kind = 'erasure' and c.status in (${literals(BLOCKING)})
    group by c.subject_id, c.operation`;
}

/** The newest abandoned entries, by their own index, because they may be few among very many. */
export function listNewestAbandoned(
  dialect: Dialect,
  kinds: readonly OutboxKind[],
  after: string | undefined,
  limit: number,
): Sql {
  const walks = (kinds.length === 0 ? OUTBOX_KINDS : kinds).map((one) => {
    const { columns, from, where, at, id } = abandonedRows(dialect, one);
    return sql`select * from (select ${columns} from ${from}
      where ${where} ${after === undefined ? empty : sql`and ${id} < ${after}`}
      order by ${at} desc, ${id} desc limit ${limit}) as walk`;
  });
  return sql`select * from (${join(walks, " union all ")}) as u order by u.entry_id desc limit ${limit}`;
}

export function selectEntry(dialect: Dialect, id: string): Sql {
  return sql`select ${LISTED.columns(dialect, "c")} from ${dialect.table("outbox")} as c where c.entry_id = ${id}`;
}

/** The entries that were written for a run, oldest first. */
export function selectTrail(dialect: Dialect, trail: readonly string[]): Sql {
  return sql`select ${LISTED.columns(dialect, "c")}, c.event_id, c.causation
    from ${idRows(dialect, trail)} join ${dialect.table("outbox")} as c on c.entry_id = r.row_id
    order by c.enqueued_at, c.event_id, c.entry_id`;
}
