/**
 * A request without calls to outside systems is complete with its local phase. The completion event is written in
 * the same transaction, so a rollback discards it. An outside sink must not get the event before the commit: there
 * the transaction enqueues an internal entry, and the runner sends the event.
 */
import type { NewAuditEvent } from "../../audit/event.ts";
import { appending, isTransactional, type AnySink } from "../../audit/sink.ts";
import type { OutboxOperation } from "../../core/outbox/entry.ts";
import { insertEntries, type NewEntry } from "../../outbox/queries.ts";
import { lockBlocking, type Request } from "../../outbox/settle-queries.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";

/** The name of the internal completion entry. Names with `$` are reserved for Amends. */
export const LOCAL_ONLY = "$local";

const COMPLETED = {
  erase: "ERASURE_COMPLETED",
  rectify: "RECTIFICATION_COMPLETED",
} as const satisfies Record<OutboxOperation, NewAuditEvent["type"]>;

export function completionOf({ subjectId, operation }: Request): NewAuditEvent {
  return { type: COMPLETED[operation], subjectId, payload: {} };
}

/** Completes the request unless an entry of any generation is still open. True if it is complete. */
export function* completeIn(
  dialect: Dialect,
  sink: AnySink,
  request: Request,
  newId: () => string,
): Work<boolean> {
  const open = yield lockBlocking(dialect, request);
  if (open.length > 0) return false;
  if (isTransactional(sink)) {
    yield* appending(sink, dialect, [completionOf(request)]);
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
  yield insertEntries(dialect, [entry], undefined);
  return true;
}
