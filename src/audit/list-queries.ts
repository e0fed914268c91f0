/** Lists of the audit trail, newest first. */
import type { Dialect } from "../storage/database.ts";
import { empty, raw, sql, type Sql } from "../storage/sql.ts";
import { EVENT } from "./rows.ts";

export interface RequestRange {
  readonly subjectId: string | undefined;
  /** The last request of the previous page. */
  readonly after: readonly [atMs: number, seq: number] | undefined;
}

/** Requests of data subjects, each with the instant of its completion. */
export function listNewestRequests(dialect: Dialect, { subjectId, after }: RequestRange, limit: number): Sql {
  const events = dialect.table("audit_events");
  return sql`select r.seq, r.subject_id, r.type, ${dialect.epochMs(raw("r.at"))} as at_ms,
      (select ${dialect.epochMs(raw("e.at"))} from ${events} as e where e.subject_id = r.subject_id and e.seq > r.seq
        and e.type = case r.type when 'ERASURE_REQUESTED' then 'ERASURE_COMPLETED' else 'RECTIFICATION_COMPLETED' end
        order by e.seq limit 1) as completed_ms
    from ${events} as r where r.type in ('ERASURE_REQUESTED', 'RECTIFICATION_REQUESTED')
      ${subjectId === undefined ? empty : sql`and r.subject_id = ${subjectId}`}
      ${after ? sql`and (r.at, r.seq) < (${dialect.instantOf(after[0])}, ${after[1]})` : empty}
    order by r.at desc, r.seq desc limit ${limit}`;
}

export interface EventRange {
  readonly subjectId: string | undefined;
  readonly type: string | undefined;
  /** The number of the last event of the previous page. */
  readonly after: number | undefined;
}

export function listNewestEvents(
  dialect: Dialect,
  { subjectId, type, after }: EventRange,
  limit: number,
): Sql {
  return sql`select ${EVENT.columns(dialect)} from ${EVENT.of(dialect)}
    where true ${after === undefined ? empty : sql`and seq < ${after}`}
      ${subjectId === undefined ? empty : sql`and subject_id = ${subjectId}`}
      ${type === undefined ? empty : sql`and type = ${type}`}
    order by seq desc limit ${limit}`;
}

/** A text that changes whenever an event is added. */
export function changeSign(dialect: Dialect): Sql {
  // The lower bound lets each database read only the end of the index.
  return sql`coalesce(cast((select n.seq from ${dialect.table("audit_events")} as n where n.seq > 0
    order by n.seq desc limit 1) as text), '')`;
}
