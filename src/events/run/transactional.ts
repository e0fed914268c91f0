/**
 * A handler that asked for a transaction: what it writes there, its answer, the saga's state and the delivery's mark
 * are one commit, so it happens exactly once. If it answers with `err`, or throws, nothing that it wrote is kept.
 */
import { callInTransaction, type Attempted } from "../../runtime/own-transaction.ts";
import type { Database, Session } from "../../storage/database.ts";
import type { Called } from "./call.ts";
import { DEADLINE_PASSED, type FinalResult, type HandlerResult } from "./result.ts";

/** An outcome that is written, but not committed yet. */
export interface Written {
  /** It is committed: what it causes may begin. */
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
  /** Undefined if the run has moved on, or the claim was lost: the transaction is rolled back. */
  write(session: Session, result: FinalResult): Promise<Written | undefined>;
  /** Whether an earlier commit, whose answer was lost, has settled the delivery. */
  isSettled(): Promise<boolean>;
}

/** `settled`: it is done. `refused`: the run has moved on. Otherwise the result is still to be written, without the handler's writes. */
export async function handleInTransaction(
  given: TransactionalHandler,
): Promise<HandlerResult | "settled" | "refused" | undefined> {
  const ended = await callInTransaction<HandlerResult | undefined, Written>({
    db: given.db,
    signal: given.signal,
    call: async (tx) => attempted(given, await given.call(tx)),
    write: (session, result) => given.write(session, result as FinalResult),
    isCommitted: () => given.isSettled(),
    discard: (written) => written.cancel(),
  });
  switch (ended.kind) {
    case "committed":
      ended.written.accept();
      return "settled";
    case "refused":
      return "refused";
    case "rolledBack":
      return ended.end;
    case "interrupted":
      return undefined;
    default: // trouble with the database that does not pass
      return { kind: "exhausted", error: "DatabaseTrouble" };
  }
}

/** An answer that came after its run's time was up is rolled back: the step has failed, and did nothing. */
function attempted(given: TransactionalHandler, called: Called): Attempted<HandlerResult | undefined> {
  const end: HandlerResult | undefined = called.expired
    ? { kind: "exhausted", error: DEADLINE_PASSED }
    : called.result;
  if (called.late) given.onLate(called.late);
  // Past the deadline of its run it has failed for that reason, whatever its last statement says.
  const isDeadline = end?.kind === "exhausted" && end.error === DEADLINE_PASSED;
  const thrown = isDeadline ? undefined : called.thrown;
  return { end, isSuccess: end?.kind === "ok", isLate: called.late !== undefined, thrown };
}
