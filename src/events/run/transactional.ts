/**
 * A handler that asked for a transaction: what it writes there, its answer, the saga's state and the delivery's mark
 * are one commit, so it happens exactly once. Where it answers with `err`, or throws, nothing of it is kept. A commit
 * whose fate is unknown is looked up, not repeated.
 */
import { AmendsError, classify } from "../../core/errors.ts";
import { AbandonedTransaction, type Database, type Session } from "../../storage/database.ts";
import { BRIEF_RETRIES, persist } from "../../storage/retry.ts";
import { DEADLINE_PASSED, type Again, type Called } from "./call.ts";
import type { HandlerEnd } from "./orchestrator.ts";

/** An answer that is written, but not committed yet. */
export interface Written {
  /** False where the run had moved on, or the claim was lost: the transaction is rolled back. */
  readonly applied: boolean;
  /** It is committed: what it brings on may begin. */
  accept(): void;
  /** It is not. */
  cancel(): void;
}

export interface TransactionalCall {
  readonly db: Database;
  readonly signal: AbortSignal;
  call(tx: unknown): Promise<Called>;
  /** The handler has not returned. */
  onLate(late: Promise<unknown>): void;
  write(session: Session, end: HandlerEnd): Promise<Written>;
  /** Whether an earlier commit, whose answer was lost, has booked it. */
  isBooked(): Promise<boolean>;
}

/** Rolls the transaction back and carries out of it why. */
class RolledBack extends Error {
  readonly end: Called["end"] | "again";

  constructor(end: Called["end"] | "again") {
    super("rolled back");
    this.end = end;
  }
}

/** The handler has not returned: its connection is thrown away, so that whatever it still sends is never committed. */
class Overdue extends AbandonedTransaction {
  readonly end: Called["end"];

  constructor(end: Called["end"]) {
    super();
    this.end = end;
  }
}

/** What came after its run's time was up is rolled back: the step has failed, and did nothing. */
function notExpired(called: Called): Called {
  return called.expired === true ? { end: { end: "exhausted", error: DEADLINE_PASSED } } : called;
}

/** `done`: it is booked. `again`: the run had moved on. Else what is still to be booked, without the handler's writes. */
export async function callInTransaction(
  given: TransactionalCall,
): Promise<HandlerEnd | Again | "done" | "again" | undefined> {
  const { db, signal } = given;
  let calls = 0;
  const last: { written: Written | undefined } = { written: undefined };
  const work = async (): Promise<void> => {
    if (last.written && (await given.isBooked())) return;
    last.written?.cancel();
    last.written = undefined;
    await db.transaction(async (session, tx) => {
      const called = notExpired(await given.call(tx));
      if (called.late) {
        given.onLate(called.late);
        throw new Overdue(called.end);
      }
      if (called.end?.end !== "ok") throw rollback(db, called, ++calls);
      last.written = await given.write(session, called.end);
      if (!last.written.applied) throw new RolledBack("again");
    }, true);
  };
  try {
    await persist(db, work, { attemptMax: Infinity, signal });
    last.written?.accept();
    return "done";
  } catch (thrown) {
    last.written?.cancel();
    // The database stayed away until the call was told to stop: that is nobody's outcome.
    if (thrown instanceof AmendsError && classify(thrown) === "transient") return undefined;
    // Whoever repeats database work wraps what is no trouble with the database.
    const error = thrown instanceof AmendsError ? thrown.cause : thrown;
    return error instanceof RolledBack || error instanceof Overdue
      ? error.end
      : { end: "exhausted", error: "DatabaseTrouble" };
  }
}

/** Trouble with the database inside the handler is the database's, not the handler's: it is tried again, not booked. */
function rollback(db: Database, called: Called, calls: number): unknown {
  const { thrown } = called;
  const mayPass =
    thrown !== undefined && classify(thrown) === "transient" && calls < BRIEF_RETRIES.attemptMax;
  if (mayPass && db.dialect.trouble(thrown).kind !== "permanent") return thrown;
  return new RolledBack(called.end);
}
