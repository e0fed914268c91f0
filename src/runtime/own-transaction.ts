/**
 * Runs application code in a transaction of Amends: its writes and the record of its success are one commit, so
 * they happen exactly once. These rules hold:
 *
 * - A call that fails, is interrupted or does not return leaves nothing behind. If it does not return, PostgreSQL's
 *   connection is destroyed; SQLite has one connection, so there the worker waits for the call.
 * - A commit whose answer was lost is read back, not repeated.
 * - A database error does not count as a failed attempt: the call is repeated. That includes every serialization
 *   failure and deadlock in a statement of the call.
 * - If the database refuses the record for a lasting reason (a missing right), the call is rolled back, does nothing,
 *   and is repeated with a backoff until the record succeeds.
 */
import { AmendsError, classify, isLasting } from "../core/errors.ts";
import { AbandonedTransaction, type Database, type Session } from "../storage/database.ts";
import { BRIEF_RETRIES, persist } from "../storage/retry.ts";
import { outlastRefusals, type RefusedWrites } from "../storage/write/refused-writes.ts";

/** The end of the call, as its transaction needs it. */
export interface Attempted<End> {
  readonly end: End;
  /** The call succeeded; record the success. */
  readonly isSuccess: boolean;
  /** The call has not returned and still uses the transaction. */
  readonly isLate: boolean;
  /** The thrown value, if a database error may be the reason. */
  readonly thrown?: unknown;
}

export interface TransactionalCall<End, Written> {
  readonly db: Database;
  /** Aborts when the call should stop: waiting for the database ends then. */
  readonly signal: AbortSignal;
  /** Called while the database refuses the record for a lasting reason, and once it no longer does. */
  readonly onRefused?: ((refused: RefusedWrites) => void) | undefined;
  call(tx: unknown): Promise<Attempted<End>>;
  /** Records the success in the same transaction; undefined if the fence refused it. */
  write(session: Session, end: End): Promise<Written | undefined>;
  /** Reads whether a commit with a lost answer took effect. */
  isCommitted(written: Written): Promise<boolean>;
  /** Called if the transaction was not committed. */
  discard?(written: Written): void;
}

export type TransactionEnd<End, Written> =
  | { readonly kind: "committed"; readonly written: Written }
  /** The fence refused the record: another worker claimed the row, or the row changed meanwhile. */
  | { readonly kind: "refused" }
  /** The call failed or has not returned: its end must still be recorded. */
  | { readonly kind: "rolledBack"; readonly end: End }
  /** The database was unreachable until the call was aborted: there is no outcome. */
  | { readonly kind: "interrupted" }
  /** The database refuses the call's statements, or ends its transaction repeatedly. */
  | { readonly kind: "trouble" };

/**
 * A call that takes this long may exceed the database's idle-in-transaction timeout. If that happens repeatedly,
 * the call is at fault, not the database.
 */
const SLOW_CALL_MS = 10_000;

/** Serialization failures and deadlocks: the database rolled the transaction back, and a retry helps. */
const CONFLICTS: ReadonlySet<unknown> = new Set(["40001", "40P01"]);

/** Rolls the transaction back and carries the result out of it. */
class RolledBack extends Error {
  readonly result: TransactionEnd<unknown, never>;

  constructor(result: TransactionEnd<unknown, never>) {
    super("rolled back");
    this.result = result;
  }
}

/** The same for a call that still uses the transaction: its connection is destroyed. */
class Overdue extends AbandonedTransaction {
  readonly end: unknown;

  constructor(end: unknown) {
    super();
    this.end = end;
  }
}

/**
 * The grace period of a call in a transaction. On SQLite, and in a transaction of a client chosen with `joins`, a rollback
 * under a running call would let it write outside of the transaction: there the call is waited for.
 */
export function graceInTransaction(db: Database, graceMs: number | undefined): number | undefined {
  return db.dialect.name === "sqlite" || db.client !== undefined ? undefined : graceMs;
}

export async function callInTransaction<End, Written>(
  given: TransactionalCall<End, Written>,
): Promise<TransactionEnd<End, Written>> {
  const { db, signal } = given;
  const last: { written: Written | undefined } = { written: undefined };
  const forget = (): void => {
    if (last.written !== undefined) given.discard?.(last.written);
    last.written = undefined;
  };
  let calls = 0;
  let slowCalls = 0;
  const work = async (): Promise<void> => {
    if (last.written !== undefined && (await given.isCommitted(last.written))) return;
    forget();
    if (slowCalls >= BRIEF_RETRIES.attemptMax) throw new RolledBack({ kind: "trouble" });
    await db.transaction(async (session, tx) => {
      const begunAtMs = db.clock.monotonicMs();
      const attempted = await given.call(tx);
      if (db.clock.monotonicMs() - begunAtMs >= SLOW_CALL_MS) slowCalls++;
      if (attempted.isLate) throw new Overdue(attempted.end);
      if (!attempted.isSuccess) throw rollback(db, attempted, ++calls);
      last.written = await given.write(session, attempted.end);
      if (last.written === undefined) throw new RolledBack({ kind: "refused" });
    }, true);
  };
  try {
    const patiently = (): Promise<void> => persist(db, work, { attemptMax: Infinity, signal });
    await outlastRefusals(patiently, { db, signal, onRefused: given.onRefused });
    return { kind: "committed", written: last.written as Written };
  } catch (thrown) {
    forget();
    if (isLasting(thrown)) return { kind: "interrupted" };
    if (thrown instanceof AmendsError && classify(thrown) === "transient") return { kind: "interrupted" };
    // `persist` wraps an error that is not a database error.
    const error = thrown instanceof AmendsError ? thrown.cause : thrown;
    if (error instanceof RolledBack) return error.result as TransactionEnd<End, never>;
    if (error instanceof Overdue) return { kind: "rolledBack", end: error.end as End };
    return { kind: "trouble" };
  }
}

/**
 * Rethrows a database error inside the call, so that the call is repeated. An error that only looks like one
 * (another system that cannot be reached) counts as the call's failure if it lasts.
 */
function rollback<End>(db: Database, { end, thrown }: Attempted<End>, calls: number): unknown {
  const failed = new RolledBack({ kind: "rolledBack", end });
  if (thrown === undefined || classify(thrown) === "permanent") return failed;
  const mayPass = CONFLICTS.has(codeOf(thrown)) || calls < BRIEF_RETRIES.attemptMax;
  return mayPass && db.dialect.trouble(thrown).kind !== "permanent" ? thrown : failed;
}

function codeOf(thrown: unknown): unknown {
  try {
    return (thrown as { code?: unknown } | null)?.code;
  } catch {
    return undefined; // a getter that throws, a revoked proxy
  }
}
