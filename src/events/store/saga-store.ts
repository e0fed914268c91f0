/**
 * A store of one's own for the states of sagas over events, beside `saga_state`: for a table that the application
 * reads or joins. The engine saves each new state in the transaction that settles the delivery, so that both are
 * committed together or not at all.
 */
import type { FlowStatus } from "../../core/flow/machine.ts";
import { AmendsError } from "../../core/errors.ts";
import type { Session } from "../../storage/database.ts";
import { selectRuns } from "./run-queries.ts";
import { STORED_RUN, type StoredRun } from "./run-row.ts";

/** The state of one run of a saga over events. */
export interface SagaState {
  /** The id of the run. */
  readonly sagaId: string;
  /** The name of the saga. */
  readonly sagaType: string;
  /** The id of the process, as text. */
  readonly processId: string;
  /** The status of the run. */
  readonly status: FlowStatus;
  /** The number of completed steps; in a chain, the index of the step that the run waits for. */
  readonly currentStep: number;
  /** The names of the completed steps, in their order. */
  readonly completedSteps: readonly string[];
  /** By step: the event that it gave, of those that may give one of several. */
  readonly answers: Readonly<Record<string, string>>;
  /** When the run began. */
  readonly startedAt: Date;
  /** The name of the step that failed; undefined while none has. */
  readonly error: string | undefined;
  /** The name of the failure event, or the label of the thrown error. */
  readonly errorLabel: string | undefined;
  /** The names of the steps that are still to be undone, the next one first. */
  readonly undoSteps: readonly string[];
  /** The steps whose handlers have not ended although the run compensates. */
  readonly lateSteps: readonly string[];
  /** Rises with every change. It may rise by more than one between two saves. */
  readonly version: number;
}

/** The options of both functions of a `SagaStore`. */
export interface SagaStoreOptions<Tx = unknown> {
  /** The open transaction. What is written through it is committed together with the events of the result. */
  readonly tx: Tx;
}

/** Keeps the states of sagas over events. One that stores all fields of a `SagaState` can drive a `SagaOrchestrator`. */
export interface SagaStore<Tx = unknown> {
  /**
   * Stores a state, in place of the state of the same saga and process, if there is one. Throws a
   * `SagaConcurrencyError` if the stored state of the same run does not have a lower version.
   */
  save(state: SagaState, options: SagaStoreOptions<Tx>): Promise<void>;
  /** The stored state of a process; undefined if there is none. */
  get(
    sagaType: string,
    processId: string,
    options: Partial<SagaStoreOptions<Tx>>,
  ): Promise<SagaState | undefined>;
}

/** The store threw, and the transaction was rolled back. The thrown value is the `cause`. */
export class SagaStoreFailure extends AmendsError {
  constructor(cause: unknown) {
    super("CONFIGURATION", "The SagaStore threw; nothing was written. See the cause.", {}, { cause });
    this.name = "SagaStoreFailure";
  }
}

function toState(row: StoredRun): SagaState {
  const { sagaId, sagaType, processId, status, currentStep, completedSteps, answers, undoSteps } = row;
  const { lateSteps, error, errorLabel, version, startedAt } = row;
  return {
    sagaId,
    sagaType,
    processId,
    status,
    currentStep,
    completedSteps,
    answers,
    startedAt: new Date(startedAt),
    error,
    errorLabel,
    undoSteps,
    lateSteps,
    version,
  };
}

/**
 * Saves the states of these runs as they are inside the transaction. A state that an earlier commit saved, whose
 * answer was lost, is not saved again.
 */
export async function saveStates(
  store: SagaStore,
  session: Session,
  tx: unknown,
  sagaIds: readonly string[],
): Promise<void> {
  if (sagaIds.length === 0) return;
  const { dialect } = session;
  const rows = await session.query(selectRuns(dialect, sagaIds));
  try {
    for (const state of rows.map((row) => toState(STORED_RUN.read(row)))) {
      const kept = await store.get(state.sagaType, state.processId, { tx });
      const isSaved = kept?.sagaId === state.sagaId && kept.version >= state.version;
      if (!isSaved) await store.save(state, { tx });
    }
  } catch (thrown) {
    // A database error inside the store is retried like one of ours.
    if (!(thrown instanceof AmendsError) && dialect.trouble(thrown).kind !== "permanent") throw thrown;
    throw new SagaStoreFailure(thrown);
  }
}
