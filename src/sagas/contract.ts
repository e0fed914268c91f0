/**
 * The storage contract of step sagas: what a storage of one's own has to fulfil. The conformance suite in
 * `amends/testing` tells whether it does. `createRun` is optional; a storage without it commits once per call.
 */
import type { Direction } from "../core/identity.ts";
import type { EntryStatus } from "../core/saga/entry.ts";
import type { SagaStatus } from "../core/saga/machine.ts";

export interface StoredSagaState {
  readonly status: SagaStatus;
  readonly context: SagaContext;
  /** Starts at 1 and rises with every change. */
  readonly version: number;
}

/** Anything that can be written as a JSON object. */
export type SagaContext = Readonly<Record<string, unknown>>;

export interface SagaLogEntry {
  /** Orders the history of one saga. */
  readonly id: number;
  readonly sagaId: string;
  readonly stepName: string;
  readonly action: Direction;
  readonly status: EntryStatus;
  readonly details: string | null;
  readonly createdAt: Date;
}

/** What can be done to one saga. */
export interface SagaOperations {
  /** Creates it as PENDING with version 1. An id that exists is an error. */
  createSaga(sagaId: string, name: string, context: SagaContext): Promise<void>;
  /** With `currentVersion`, only if the saga still has it: otherwise SagaConcurrencyError, and nothing changes. */
  updateContext(sagaId: string, context: SagaContext, currentVersion?: number): Promise<void>;
  updateStatus(sagaId: string, status: SagaStatus): Promise<void>;
  logStep(
    sagaId: string,
    stepName: string,
    action: Direction,
    status: EntryStatus,
    details?: string | null,
  ): Promise<void>;
  /** A saga that does not exist is an error. `readForUpdate` locks it until the run commits, where the storage can. */
  loadSagaState(sagaId: string, options?: { readonly readForUpdate?: boolean }): Promise<StoredSagaState>;
  /** Oldest first. */
  getStepHistory(sagaId: string): Promise<readonly SagaLogEntry[]>;
}

/** A scope in which nothing is visible to others before `commit`. Leaving it with an error writes nothing more. */
export interface SagaStorageRun extends SagaOperations {
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export interface SagaStorage extends SagaOperations {
  /** Open sagas with fewer recoveries than allowed, those with the fewest first, then the longest untouched. */
  getSagasForRecovery(
    limit: number,
    maxRecoveryAttempts?: number,
    staleAfterSeconds?: number,
    sagaName?: string,
  ): Promise<readonly string[]>;
  incrementRecoveryAttempts(sagaId: string, newStatus?: SagaStatus): Promise<void>;
  setRecoveryAttempts(sagaId: string, attempts: number): Promise<void>;
  createRun?<T>(work: (run: SagaStorageRun) => Promise<T>): Promise<T>;
}
