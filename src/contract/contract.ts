/**
 * The storage contract of step sagas: what a custom storage must implement. The conformance suite in
 * `amends/testing` checks it. `createRun` is optional; a storage without it commits once per call.
 *
 * A refused call rejects with an AmendsError and changes nothing: SAGA_CONFLICT if the id exists, SAGA_NOT_FOUND if
 * it does not, SagaConcurrencyError if the version is outdated, and NOT_ALLOWED_NOW for a status that the saga
 * cannot have next, or for any change to a saga that has ended.
 */
import type { Direction } from "../core/identity.ts";
import type { EntryStatus } from "../core/saga/entry.ts";
import { sagaMachine, type SagaStatus } from "../core/saga/machine.ts";

/** The state of one saga in a storage. */
export interface StoredSagaState {
  /** The status of the saga. */
  readonly status: SagaStatus;
  /** The context that was last written. */
  readonly context: SagaContext;
  /**
   * The version of the saga: 1 at first, and higher after every change of the context, the status, the history or the
   * recovery attempts.
   */
  readonly version: number;
}

/** The context of a saga: any object that JSON can hold. Reading returns the value after a JSON round trip. */
export type SagaContext = Readonly<Record<string, unknown>>;

/** One line of a saga's history. */
export interface SagaLogEntry {
  /** The number of the line. It rises within the history of one saga. */
  readonly id: number;
  /** The id of the saga. */
  readonly sagaId: string;
  /** The name of the step. */
  readonly stepName: string;
  /** Whether the step acted or was compensated. */
  readonly action: Direction;
  /** Whether it started, completed or failed. */
  readonly status: EntryStatus;
  /** Further facts as text; null for none. */
  readonly details: string | null;
  /** When the line was written, by the storage's clock. */
  readonly createdAt: Date;
}

/** The operations on one saga. A refused operation rejects with an `AmendsError` and changes nothing. */
export interface SagaOperations {
  /** Creates a saga as PENDING with version 1. Rejects with `SAGA_CONFLICT` if the id exists. */
  createSaga(sagaId: string, name: string, context: SagaContext): Promise<void>;
  /**
   * Replaces the context. Rejects with a `SagaConcurrencyError` if `currentVersion` is given and is no longer the
   * saga's version; this is checked first.
   */
  updateContext(sagaId: string, context: SagaContext, currentVersion?: number): Promise<void>;
  /** Changes the status. Rejects with `NOT_ALLOWED_NOW` if `mayBecome` does not allow it. */
  updateStatus(sagaId: string, status: SagaStatus): Promise<void>;
  /** Adds a line to the history. */
  logStep(
    sagaId: string,
    stepName: string,
    action: Direction,
    status: EntryStatus,
    details?: string | null,
  ): Promise<void>;
  /**
   * Reads the state. Rejects with `SAGA_NOT_FOUND` if the saga does not exist. With `readForUpdate` inside a run, no
   * other writer can change the saga between this read and the commit of the run: the storage locks the saga, or
   * rejects the commit with a `SagaConcurrencyError`. Outside of a run, `readForUpdate` has no effect.
   *
   * `SqlSagaStorage` locks the saga's row until the run commits, rolls back or ends. Until then the run holds one
   * connection, another reader for update waits, and calls of the storage itself inside the run are refused with
   * `NOT_ALLOWED_NOW`. If the connection is lost, the run fails and must be run again. So does a run that sends no
   * statement for 15 s (changes are sent at `commit`): it loses the lock, and its next call is refused. On SQLite the lock holds the only connection and
   * the write lock of the file: everything else on this database waits for the run, and other calls on the same database
   * inside the run, such as `amends.start`, are refused with `NOT_ALLOWED_NOW`.
   */
  loadSagaState(sagaId: string, options?: { readonly readForUpdate?: boolean }): Promise<StoredSagaState>;
  /** Reads the history, oldest line first. */
  getStepHistory(sagaId: string): Promise<readonly SagaLogEntry[]>;
}

/**
 * A transaction of a storage. It sees its own changes; others see them after `commit`. It may commit more than once.
 * Changes that are not committed are discarded by `rollback` and at the end of the run, with an error or without.
 */
export interface SagaStorageRun extends SagaOperations {
  /** Makes the changes so far durable. */
  commit(): Promise<void>;
  /** Discards the changes since the last commit. */
  rollback(): Promise<void>;
}

/** The storage contract of sagas. A custom storage must pass `sagaStorageConformance` of `amends/testing`. */
export interface SagaStorage extends SagaOperations {
  /**
   * Returns the ids of PENDING, RUNNING and COMPENSATING sagas with fewer recovery attempts than `maxRecoveryAttempts`,
   * those with the fewest attempts first, then the longest unchanged. Default: 5. With `staleAfterSeconds`, which may
   * be a fraction, it returns only sagas that have not changed for that long, by the storage's clock.
   */
  getSagasForRecovery(
    limit: number,
    maxRecoveryAttempts?: number,
    staleAfterSeconds?: number,
    sagaName?: string,
  ): Promise<readonly string[]>;
  /** Adds one recovery attempt, and sets `newStatus` if it is given. */
  incrementRecoveryAttempts(sagaId: string, newStatus?: SagaStatus): Promise<void>;
  /** Sets the number of recovery attempts: a whole number, 0 or more. */
  setRecoveryAttempts(sagaId: string, attempts: number): Promise<void>;
  /** Optional: runs work in a transaction. A storage without it commits every operation on its own. */
  createRun?<T>(work: (run: SagaStorageRun) => Promise<T>): Promise<T>;
}

/**
 * True if a saga with the status `from` may get the status `to`. The same status again is allowed, except after the
 * saga has ended.
 */
export function mayBecome(from: SagaStatus, to: SagaStatus): boolean {
  if (sagaMachine.isTerminal(from)) return false;
  return from === to || sagaMachine.arrow(from, to) !== undefined;
}
