/** What the console asks about requests of data subjects: the trail is their record. */
import { EVENT } from "../../audit/rows.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";

export interface RequestFilter {
  readonly subjectId: string | undefined;
  /** Asked for before this instant. */
  readonly beforeMs: number | undefined;
  readonly after: { readonly atMs: number; readonly seq: number } | undefined;
}

/** Requests, newest first, each with its end and with how much is still open. */
export function listRequests(dialect: Dialect, filter: RequestFilter, limit: number): Sql {
  const { subjectId, beforeMs, after } = filter;
  const events = dialect.table("audit_events");
  const open = outboxMachine.states.filter((state) => !outboxMachine.isTerminal(state));
  return sql`select r.seq, r.subject_id, r.type, ${dialect.epochMs(raw("r.at"))} as at_ms,
      (select ${dialect.epochMs(raw("e.at"))} from ${events} as e where e.subject_id = r.subject_id and e.seq > r.seq
        and e.type = case r.type when 'ERASURE_REQUESTED' then 'ERASURE_COMPLETED' else 'RECTIFICATION_COMPLETED' end
        order by e.seq limit 1) as completed_ms,
      (select count(*) from ${dialect.table("outbox")} as c where c.subject_id = r.subject_id and c.kind = 'erasure'
        and c.operation = case r.type when 'ERASURE_REQUESTED' then 'erase' else 'rectify' end
        and c.status in (${literals(open)})) as open
    from ${events} as r where r.type in ('ERASURE_REQUESTED', 'RECTIFICATION_REQUESTED')
      ${subjectId === undefined ? empty : sql`and r.subject_id = ${subjectId}`}
      ${beforeMs === undefined ? empty : sql`and r.at < ${dialect.instantOf(beforeMs)}`}
      ${after ? sql`and (r.at, r.seq) < (${dialect.instantOf(after.atMs)}, ${after.seq})` : empty}
    order by r.at desc, r.seq desc limit ${limit}`;
}

/** Events of the trail, newest first. */
export function listNewestEvents(
  dialect: Dialect,
  {
    subjectId,
    type,
    after,
  }: { subjectId: string | undefined; type: string | undefined; after: number | undefined },
  limit: number,
): Sql {
  return sql`select ${EVENT.columns(dialect)} from ${EVENT.of(dialect)}
    where true ${after === undefined ? empty : sql`and seq < ${after}`}
      ${subjectId === undefined ? empty : sql`and subject_id = ${subjectId}`}
      ${type === undefined ? empty : sql`and type = ${type}`}
    order by seq desc limit ${limit}`;
}
