/**
 * A handler that asked for a transaction: what it writes there, its answer, the saga's state and the delivery's mark
 * are one commit, so it happens exactly once. If it answers with `err`, or throws, nothing that it wrote is kept.
 */
import { callInTransaction, type Attempted } from "../../runtime/own-transaction.ts";
import type { Database, Session } from "../../storage/database.ts";
import { DEADLINE_PASSED, type Again, type Called } from "./call.ts";
import type { HandlerEnd } from "./orchestrator.ts";

/** An answer that is written, but not committed yet. */
export interface Written {
  /** It is committed: what it brings on may begin. */
  accept(): void;
  /** It is not. */
  cancel(): void;
}

export interface TransactionalHandler {
  readonly db: Database;
  readonly signal: AbortSignal;
  call(tx: unknown): Promise<Called>;
  /** The handler has not returned. */
  onLate(late: Promise<unknown>): void;
  /** Undefined where the run had moved on, or the claim was lost: the transaction is rolled back. */
  write(session: Session, end: HandlerEnd): Promise<Written | undefined>;
  /** Whether an earlier commit, whose answer was lost, has settled the delivery. */
  isSettled(): Promise<boolean>;
}

/** `done`: it is settled. `again`: the run had moved on. Else the end is still to be settled, without the handler's writes. */
export async function handleInTransaction(
  given: TransactionalHandler,
): Promise<HandlerEnd | Again | "done" | "again" | undefined> {
  const ended = await callInTransaction<Called["end"], Written>({
    db: given.db,
    signal: given.signal,
    call: async (tx) => attempted(given, await given.call(tx)),
    write: (session, end) => given.write(session, end as HandlerEnd),
    isCommitted: () => given.isSettled(),
    discard: (written) => written.cancel(),
  });
  switch (ended.kind) {
    case "committed":
      ended.written.accept();
      return "done";
    case "refused":
      return "again";
    case "rolledBack":
      return ended.end;
    case "interrupted":
      return undefined;
    default: // trouble with the database that does not pass
      return { end: "exhausted", error: "DatabaseTrouble" };
  }
}

/** An answer that came after its run's time was up is rolled back: the step has failed, and did nothing. */
function attempted(given: TransactionalHandler, called: Called): Attempted<Called["end"]> {
  const end: Called["end"] = called.expired ? { end: "exhausted", error: DEADLINE_PASSED } : called.end;
  if (called.late) given.onLate(called.late);
  // Past the deadline of its run it has failed for that reason, whatever its last statement says.
  const isDeadline = end?.end === "exhausted" && end.error === DEADLINE_PASSED;
  const thrown = isDeadline ? undefined : called.thrown;
  return { end, isSuccess: end?.end === "ok", isLate: called.late !== undefined, thrown };
}
