/**
 * A request that reaches no outside system is complete with its local phase: told in the same transaction, so that a
 * rollback takes it back. A foreign sink cannot be told before the commit; there an entry of Amends' own goes through
 * the outbox, and the runner tells it.
 */
import type { NewAuditEvent } from "../../audit/event.ts";
import { isTransactional, type AnySink } from "../../audit/sink.ts";
import type { OutboxOperation } from "../../core/outbox/entry.ts";
import { insertEntries, type NewEntry } from "../../outbox/queries.ts";
import { lockBlocking, type Request } from "../../outbox/settle-queries.ts";
import type { Session } from "../../storage/database.ts";

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
  const open = await session.query(lockBlocking(session.dialect, request));
  if (open.length > 0) return false;
  if (isTransactional(sink)) {
    await sink.appendIn(session, [completionOf(request)]);
    return true;
  }
  const { subjectId, operation } = request;
  const entry: NewEntry = {
    entryId: newId(),
    kind: "erasure",
    name: LOCAL_ONLY,
    subjectId,
    operation,
    refKind: LOCAL_ONLY,
    refValue: "",
  };
  await session.query(insertEntries(session.dialect, [entry], undefined));
  return true;
}
