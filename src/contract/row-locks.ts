/**
 * The rows that a run has read for update. The first of them opens a transaction, which holds the locks until the run
 * commits, rolls back or ends. A transaction that fails after the caller has seen a row is never repeated: the caller
 * has decided by what it saw. A run that leaves its locks unused for too long loses them, because on SQLite everything else
 * waits for them.
 */
import { AmendsError } from "../core/errors.ts";
import type { Database, Session } from "../storage/database.ts";
import { factsOf } from "../storage/refusal.ts";
import { HeldTransaction } from "./held-transaction.ts";
import type { PendingSaga } from "./pending-saga.ts";
import { inDoubt, notFound, readSaga, saveAll } from "./saga-rows.ts";

/** Repeats work that failed for a passing reason. */
export type Persist = <T>(work: () => Promise<T>) => Promise<T>;

/** As `idle_in_transaction_session_timeout` on connections that Amends opens. */
const IDLE_MS = 15_000;

export class RowLocks {
  readonly #db: Database;
  readonly #persist: Persist;
  readonly #ids = new Set<string>();
  #held: HeldTransaction | undefined;
  /** Why the locks were lost, until the run rolls back. */
  #lostBy: unknown;
  #stopTimer: () => void = () => undefined;

  constructor(db: Database, persist: Persist) {
    this.#db = db;
    this.#persist = persist;
  }

  get isOpen(): boolean {
    return this.#held !== undefined;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Throws if the locks were lost: what the run has read since its last commit no longer holds. */
  checkHeld(): void {
    if (this.#lostBy === undefined) return;
    throw new AmendsError(
      "NOT_ALLOWED_NOW",
      "This run has lost the locks of the sagas that it read for update. Call `rollback` and read them again, or run it again.",
      {},
      { cause: this.#lostBy },
    );
  }

  /** Locks the row of the saga and reads it. */
  async lock(id: string): Promise<PendingSaga> {
    const saga = await (this.#held ? this.#within((session) => readSaga(session, id, true)) : this.#open(id));
    if (!saga) throw notFound(id);
    this.#ids.add(id);
    return saga;
  }

  /** Reads in the transaction that holds the locks. */
  async read(id: string): Promise<PendingSaga> {
    const saga = await this.#within((session) => readSaga(session, id, false));
    if (!saga) throw notFound(id);
    return saga;
  }

  /** Writes all of them or none, and releases the locks. */
  async commit(pending: readonly PendingSaga[]): Promise<void> {
    await this.#within((session) => saveAll(session, pending));
    const held = this.#held as HeldTransaction;
    this.#stopTimer();
    try {
      await held.commit();
    } catch (error) {
      this.#lostBy = error;
      if (error instanceof AmendsError) throw error;
      const isInDoubt = pending.length > 0 && this.#db.dialect.trouble(error).kind === "unknown";
      throw isInDoubt ? inDoubt(error) : this.#lost(error);
    } finally {
      this.#forget();
    }
  }

  /** Rolls back, which releases the locks. Never rejects. */
  async release(): Promise<void> {
    await this.#held?.rollback();
    this.#forget();
    this.#lostBy = undefined;
  }

  /** Repeated as a whole: nobody has seen the row yet. */
  async #open(id: string): Promise<PendingSaga | undefined> {
    const [held, saga] = await this.#persist(async () => {
      const transaction = await HeldTransaction.begin(this.#db);
      try {
        return [transaction, await readSaga(transaction.session, id, true)] as const;
      } catch (error) {
        await transaction.rollback(error);
        throw error;
      }
    });
    if (!saga) await held.rollback();
    else {
      this.#held = held;
      this.#startTimer();
    }
    return saga;
  }

  async #within<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const held = this.#held as HeldTransaction;
    this.#stopTimer();
    try {
      const result = await work(held.session);
      this.#startTimer();
      return result;
    } catch (error) {
      await held.rollback(error);
      this.#forget();
      this.#lostBy = error;
      throw error instanceof AmendsError ? error : this.#lost(error);
    }
  }

  #startTimer(): void {
    this.#stopTimer = this.#db.clock.after(IDLE_MS, () => {
      const held = this.#held;
      this.#forget();
      this.#lostBy = new Error(`the run sent no statement for ${IDLE_MS / 1_000} s`);
      void held?.rollback(this.#lostBy);
    });
  }

  #forget(): void {
    this.#stopTimer();
    this.#held = undefined;
    this.#ids.clear();
  }

  #lost(cause: unknown): AmendsError {
    const { code } = this.#db.dialect.trouble(cause);
    return new AmendsError(
      code,
      "A statement of a run that had read a saga for update failed, and the run has lost its locks. Nothing of the run since its last commit was written. Run it again.",
      { ...factsOf(cause) },
      { cause },
    );
  }
}
