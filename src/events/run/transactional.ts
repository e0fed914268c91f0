/**
 * Runs a handler in a transaction. Its writes, its answer, the saga's state and the settle of the delivery are one
 * commit, so they happen exactly once. If the handler returns `err` or throws, its writes are rolled back.
 */
import { callInTransaction, type Attempted } from "../../runtime/own-transaction.ts";
import type { Database, Session } from "../../storage/database.ts";
import type { RefusedWrites } from "../../storage/write/refused-writes.ts";
import type { Called } from "./call.ts";
import { DEADLINE_PASSED, type FinalResult, type HandlerResult } from "./result.ts";

/** An outcome that is written, but not committed yet. */
export interface Written {
  /** Committed: the follow-up rows may start. */
  accept(): void;
  /** Not committed. */
  cancel(): void;
}

export interface TransactionalHandler {
  readonly db: Database;
  readonly signal: AbortSignal;
  readonly onRefused: (refused: RefusedWrites) => void;
  call(tx: unknown): Promise<Called>;
  /** The handler has not returned. */
  onLate(late: Promise<unknown>): void;
  /** Undefined if the run has changed, or the claim was lost: the transaction is rolled back. */
  write(session: Session, result: FinalResult): Promise<Written | undefined>;
  /** Whether an earlier commit, whose answer was lost, has settled the delivery. */
  isSettled(): Promise<boolean>;
}

/**
 * `settled`: the outcome is committed. `refused`: the run has changed. Otherwise the result must still be written,
 * without the handler's writes.
 */
export async function handleInTransaction(
  given: TransactionalHandler,
): Promise<HandlerResult | "settled" | "refused" | undefined> {
  const ended = await callInTransaction<HandlerResult | undefined, Written>({
    db: given.db,
    signal: given.signal,
    onRefused: given.onRefused,
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
    default: // a permanent database error
      return { kind: "exhausted", error: "DatabaseTrouble" };
  }
}

/** An answer after the run's deadline is rolled back: the step has failed without effects. */
function attempted(given: TransactionalHandler, called: Called): Attempted<HandlerResult | undefined> {
  const end: HandlerResult | undefined = called.expired
    ? { kind: "exhausted", error: DEADLINE_PASSED }
    : called.result;
  if (called.late) given.onLate(called.late);
  // Past the run's deadline, the deadline is the reason of the failure, whatever the error is.
  const isDeadline = end?.kind === "exhausted" && end.error === DEADLINE_PASSED;
  const thrown = isDeadline ? undefined : called.thrown;
  return { end, isSuccess: end?.kind === "ok", isLate: called.late !== undefined, thrown };
}
