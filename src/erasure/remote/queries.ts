/** The statements on entries of data subjects: what blocks a request, and what newer entries take the place of. */
import { BLOCKING, outboxMachine, SUPERSEDED } from "../../core/outbox/machine.ts";
import { idRows } from "../../outbox/queries.ts";
import { ENTRY } from "../../outbox/rows.ts";
import type { Request } from "../../outbox/settle-queries.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { SCRUBBED } from "./scrub.ts";

/** The entries that a request waits for, locked in the order in which every statement locks them. */
export function lockBlocking(dialect: Dialect, { subjectId, operation }: Request): Sql {
  return sql`select c.entry_id from ${dialect.table("outbox")} as c
    where c.kind = 'erasure' and c.subject_id = ${subjectId} and c.operation = ${operation}
      and c.status in (${literals(BLOCKING)}) and coalesce(c.verification, '') <> 'pending'
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

const SUPERSEDABLE = outboxMachine.sources("supersede");

/** The rectifications of these subjects that something may take the place of, locked in that order. */
export function lockRectifications(dialect: Dialect, subjects: readonly string[]): Sql {
  return sql`select ${ENTRY.columns(dialect, "c")} from ${ENTRY.of(dialect)} as c
    where c.kind = 'erasure' and ${dialect.among(raw("c.subject_id"), subjects)} and c.operation = 'rectify'
      and c.status in (${literals(SUPERSEDABLE)})
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

/** The ref goes as well: nobody will call with it again. */
export function supersedeEntries(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`update ${dialect.table("outbox")} as c
    set status = ${literals([SUPERSEDED])}, payload = null, next_attempt_at = null, last_error = null,
      ref_value = ${SCRUBBED}, ref_extra = null, slot = null
    from ${idRows(dialect, ids)} where c.entry_id = r.row_id and c.status || '' in (${literals(SUPERSEDABLE)})`;
}
