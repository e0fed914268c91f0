/** The statements that remove outbox entries. Each statement lists the states that it may remove. */
import { BLOCKING, outboxMachine } from "../../core/outbox/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { idRows } from "../queries.ts";

/** An unrouted event that was never claimed. */
const UNTAKEN = raw("(kind = 'event' and status || '' = 'pending' and attempts = 0)");

/** Abandoned and open entries stay. */
export function deleteEntries(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("outbox")} where entry_id in (select r.row_id from ${idRows(dialect, ids)})
    and (status || '' in (${literals(outboxMachine.terminal)}) or ${UNTAKEN})`;
}

export interface Stretch {
  readonly after: string;
  readonly end: string;
  readonly limit: number;
}

export interface EntryTerms {
  /** How long finished entries are kept; undefined: forever. */
  readonly doneMs: number | undefined;
  /** How long an unrouted event waits for a handler; undefined: forever. */
  readonly untakenMs: number | undefined;
}

/**
 * Scans a range of the outbox along its key and marks the entries to remove: finished entries past their retention,
 * unless their run still exists or another entry of the same request is open; and unrouted events past theirs.
 * `runExists` is the condition, over `p.saga_id`, that the run of an entry still exists.
 */
export function lookThrough(
  dialect: Dialect,
  { after, end, limit }: Stretch,
  { doneMs, untakenMs }: EntryTerms,
  runExists: Sql,
): Sql {
  const outbox = dialect.table("outbox");
  const before = (ms: number): Sql => dialect.plusMs(dialect.now(), -ms);
  const isDone =
    doneMs === undefined
      ? raw("false")
      : sql`(p.status in (${literals(outboxMachine.terminal)}) and coalesce(p.last_attempt_at, p.enqueued_at) < ${before(doneMs)})`;
  const isUntaken =
    untakenMs === undefined
      ? empty
      : sql`or (p.kind = 'event' and p.status = 'pending' and p.attempts = 0 and p.enqueued_at < ${before(untakenMs)})`;
  return sql`select p.entry_id, case when (${isDone} ${isUntaken}) and not ${runExists}
        and not exists (select 1 from ${outbox} as b where b.subject_id = p.subject_id and b.operation = p.operation
          and b.kind = 'erasure' and b.status in (${literals(BLOCKING)}))
      then 1 else 0 end as gone
    from (select * from ${outbox} as o where o.entry_id > ${after} and o.entry_id < ${end}
      order by o.entry_id limit ${limit}) as p order by p.entry_id`;
}
