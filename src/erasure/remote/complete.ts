/**
 * A request that reaches no outside system is complete with its local phase: told in the same transaction, so that a
 * rollback takes it back. A foreign sink cannot be told before the commit; there an entry of Amends' own goes through
 * the outbox, and the runner tells it.
 */
import type { NewAuditEvent } from "../../audit/event.ts";
import { isTransactional, type AnySink } from "../../audit/sink.ts";
import type { OutboxOperation } from "../../core/outbox/entry.ts";
import { BLOCKING } from "../../core/outbox/machine.ts";
import type { Dialect, Session } from "../../storage/database.ts";
import { literals, sql, type Sql } from "../../storage/sql.ts";
import { insertEntries } from "../../outbox/queries.ts";
import type { Request } from "../../outbox/settle.ts";

/** The name of the entry that only stands for a completion. Names with `$` are Amends' own. */
export const LOCAL_ONLY = "$local";

const COMPLETED = {
  erase: "ERASURE_COMPLETED",
  rectify: "RECTIFICATION_COMPLETED",
} as const satisfies Record<OutboxOperation, NewAuditEvent["type"]>;

export function completionOf({ subjectId, operation }: Request): NewAuditEvent {
  return { type: COMPLETED[operation], subjectId, payload: {} };
}

/** Completes the request unless an entry of any generation is still open. True where it is complete. */
export async function completeIn(
  session: Session,
  sink: AnySink,
  request: Request,
  newId: () => string,
): Promise<boolean> {
  const open = await session.query(lockOpen(session.dialect, request));
  if (open.length > 0) return false;
  if (isTransactional(sink)) {
    await sink.appendIn(session, [completionOf(request)]);
    return true;
  }
  const { subjectId, operation } = request;
  const row = [
    newId(),
    "erasure",
    LOCAL_ONLY,
    subjectId,
    operation,
    LOCAL_ONLY,
    "",
    null,
    null,
    null,
    0,
    null,
  ];
  await session.query(insertEntries(session.dialect, [row], undefined));
  return true;
}

function lockOpen(dialect: Dialect, { subjectId, operation }: Request): Sql {
  return sql`select c.entry_id from ${dialect.table("outbox")} as c
    where c.kind = 'erasure' and c.subject_id = ${subjectId} and c.operation = ${operation}
      and c.status in (${literals(BLOCKING)}) and coalesce(c.verification, '') <> 'pending'
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}
