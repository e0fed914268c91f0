/**
 * The storage contract of step sagas: what a storage of one's own has to fulfil. The conformance suite in
 * `amends/testing` tells whether it does. `createRun` is optional; a storage without it commits once per call.
 *
 * What is refused rejects with an AmendsError and changes nothing: SAGA_CONFLICT for an id that exists,
 * SAGA_NOT_FOUND for one that does not, SagaConcurrencyError for a version that is no longer the saga's, and
 * NOT_ALLOWED_NOW for a status that the saga cannot have next, or for any change to a saga that has ended.
 */
import type { Direction } from "../core/identity.ts";
import type { EntryStatus } from "../core/saga/entry.ts";
import { sagaMachine, type SagaStatus } from "../core/saga/machine.ts";

/** A saga as a storage keeps it. */
export interface StoredSagaState {
  /** The state of the saga. */
  readonly status: SagaStatus;
  /** The data of the saga, as JSON. */
  readonly context: SagaContext;
  /** Starts at 1 and rises with every change: of the context, the status, the history and the recovery attempts. */
  readonly version: number;
}

/** Anything that can be written as a JSON object. What is read back is what JSON makes of it. */
export type SagaContext = Readonly<Record<string, unknown>>;

/** One line of a saga's log. */
export interface SagaLogEntry {
  /** Orders the history of one saga. */
  readonly id: number;
  /** The saga's id. */
  readonly sagaId: string;
  /** The name of the step. */
  readonly stepName: string;
  /** Whether the step is done or undone. */
  readonly action: Direction;
  /** Whether it began, succeeded or failed. */
  readonly status: EntryStatus;
  /** What belongs to the line, as JSON. */
  readonly details: string | null;
  /** When the line was written. */
  readonly createdAt: Date;
}

/** What can be done to one saga. */
export interface SagaOperations {
  /** Creates it as PENDING with version 1. */
  createSaga(sagaId: string, name: string, context: SagaContext): Promise<void>;
  /** With `currentVersion`, only if the saga still has it; that is looked at before anything else. */
  updateContext(sagaId: string, context: SagaContext, currentVersion?: number): Promise<void>;
  /** Only where `mayBecome` says so. */
  updateStatus(sagaId: string, status: SagaStatus): Promise<void>;
  /** Appends a line to the saga's log. */
  logStep(
    sagaId: string,
    stepName: string,
    action: Direction,
    status: EntryStatus,
    details?: string | null,
  ): Promise<void>;
  /**
   * With `readForUpdate` inside a run, no change of anybody else comes between this look and what the run commits:
   * the storage locks the saga, or refuses the commit with SagaConcurrencyError. Outside of a run it means nothing.
   */
  loadSagaState(sagaId: string, options?: { readonly readForUpdate?: boolean }): Promise<StoredSagaState>;
  /** Oldest first. */
  getStepHistory(sagaId: string): Promise<readonly SagaLogEntry[]>;
}

/**
 * Sees its own changes, and nobody else does before `commit`. It may commit more than once. What was not committed is
 * gone after `rollback`, and when the run is left, with an error or without.
 */
export interface SagaStorageRun extends SagaOperations {
  /** Makes everything of this run durable at once. */
  commit(): Promise<void>;
  /** Drops everything of this run. */
  rollback(): Promise<void>;
}

/** A storage of sagas: the contract that a storage of your own fulfils. */
export interface SagaStorage extends SagaOperations {
  /**
   * PENDING, RUNNING and COMPENSATING sagas with fewer recoveries than allowed (5 unless said otherwise), those with the
   * fewest first, then the longest unchanged. With `staleAfterSeconds`, which may be a fraction, only those that
   * have not been changed for that long, by the storage's own clock.
   */
  getSagasForRecovery(
    limit: number,
    maxRecoveryAttempts?: number,
    staleAfterSeconds?: number,
    sagaName?: string,
  ): Promise<readonly string[]>;
  /** Adds one, and changes the status with it where one is given. */
  incrementRecoveryAttempts(sagaId: string, newStatus?: SagaStatus): Promise<void>;
  /** A whole number, 0 or more. */
  setRecoveryAttempts(sagaId: string, attempts: number): Promise<void>;
  /** Runs several operations as one transaction. Optional: without it, each operation commits by itself. */
  createRun?<T>(work: (run: SagaStorageRun) => Promise<T>): Promise<T>;
}

/** May a saga with the one status be given the other? The same one again is fine, except where it has ended. */
export function mayBecome(from: SagaStatus, to: SagaStatus): boolean {
  if (sagaMachine.isTerminal(from)) return false;
  return from === to || sagaMachine.arrow(from, to) !== undefined;
}
