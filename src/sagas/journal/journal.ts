/**
 * The port between the engine and the storage of sagas: create, append, load, claim, renew. A checkpoint is one line of the
 * log at the next version. If that version is taken, the checkpoint is refused and nothing of it is written.
 */
import type { Entry } from "../../core/saga/entry.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import type { Plan } from "../../core/saga/plan.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/wait.ts";
import type { Session, SyncSession } from "../../storage/database.ts";

/** Lines that come from outside the worker carry a token that no worker has. */
export const OPERATOR_TOKEN = -1;

/** A line of the log as it was read: the version that it made, and the token under which it was written. */
export type LogEntry = Entry & { readonly id: number; readonly token: number };

/** A saga as it was read: its row, its log, and what they add up to. */
export interface SagaRecord {
  readonly id: string;
  readonly name: string;
  readonly definition: number;
  readonly input: unknown;
  readonly plan: Plan;
  readonly begun: boolean;
  readonly version: number;
  /** The newest token that has written a line: a worker with an older one has lost the saga. */
  readonly token: number;
  readonly owner: string | undefined;
  readonly recoveryAttempts: number;
  /** The database's epoch when it was read. */
  readonly epoch: number;
  /** Instants by the database's clock, and that clock's own reading, so that only differences are used. */
  readonly nowMs: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly deadlineAtMs: number | undefined;
  readonly dueAtMs: number | undefined;
  readonly entries: readonly LogEntry[];
  readonly state: SagaState;
}

/** An event that a saga will wait for. */
export interface Interest {
  readonly eventType: string;
  readonly field: string;
  /** As JSON, so that a number is not taken for a text. */
  readonly value: string;
  readonly step: string;
  /** Where the step stands in the plan. */
  readonly place: number;
}

export interface NewSaga {
  readonly id: string;
  readonly name: string;
  readonly definition: number;
  readonly input: string;
  /** Empty where a reference started it: its first claim records the plan. */
  readonly plan: Plan;
  readonly deadlineMs: number | undefined;
  /** Begun at once by this owner under this lease; otherwise any worker may claim it. */
  readonly owner: string | undefined;
  /** The owner's claim; 0 where there is none. */
  readonly token: number;
  readonly leaseMs: number;
  readonly interests: readonly Interest[];
}

/** An event for the outbox, written in the same commit as the line that it belongs to. */
export interface Emission {
  readonly entryId: string;
  readonly type: string;
  readonly payload: string | null;
  /** The version of the event's schema. Default: 1. */
  readonly version: number;
}

export interface Checkpoint {
  readonly sagaId: string;
  /** The epoch of the database from which the writer read the saga. A checkpoint of another epoch is refused. */
  readonly epoch: number;
  readonly token: number;
  /** The version that its line makes. */
  readonly version: number;
  readonly entry: Entry;
  /** Lines at the versions after it, written exactly if `entry` is: they begin or end other steps of a group. */
  readonly more?: readonly Entry[] | undefined;
  readonly emissions: readonly Emission[];
  readonly move: Move | undefined;
  /** The state after the lines, for storages that keep the whole saga in one value. */
  readonly state: SagaState;
}

/** What changes besides the log: the saga's own row. */
export interface Move {
  readonly from: SagaStatus;
  readonly to: SagaStatus;
  /** Give the saga back, to be claimed after this long. Undefined: the owner keeps it. */
  readonly releaseMs: number | undefined;
  /** The signal or event that the saga waits for while no worker has it. One that arrived after `seen` makes it due at once. */
  readonly awaits?: { readonly name: string; readonly seen: number } | undefined;
  /** JSON of why it failed or stalled. */
  readonly error: string | null;
  /** A step behind the pivot keeps failing and needs a person. Default: false. */
  readonly failing?: boolean | undefined;
  /** The saga made progress: reset its recovery budget. */
  readonly recovered: boolean;
}

export interface Kind {
  readonly name: string;
  readonly version: number;
}

/** A kind that this process can run. */
export interface KnownKind extends Kind {
  /** Recorded by the first claim of a saga that was started by a reference. */
  readonly plan: Plan;
  /** The same. It is counted from the start of the saga. */
  readonly deadlineMs: number | undefined;
}

export interface Claimed {
  readonly id: string;
  readonly token: number;
}

export interface Journal {
  /** Events that steps emit are kept in the same commit as the line that they belong to. */
  readonly keepsEvents: boolean;
  /** True if the saga was created, false if a saga with this id exists. */
  create(saga: NewSaga): Promise<boolean>;
  /** In the caller's own transaction. */
  createIn(session: Session, saga: NewSaga): Promise<boolean>;
  /** False if that version is taken: nothing was changed. */
  append(checkpoint: Checkpoint): Promise<boolean>;
  /** In a transaction that also holds a step's own effects. */
  appendIn(session: Session, checkpoint: Checkpoint): Promise<boolean>;
  /** Creates a saga in a synchronous transaction. Returns the existing one if the id is taken. */
  createNow(session: SyncSession, saga: NewSaga): SagaRecord | "created" | undefined;
  /** With a session, as that transaction sees it. */
  load(id: string, session?: Session): Promise<SagaRecord | undefined>;
  claim(
    kinds: readonly KnownKind[],
    limit: number,
    owner: string,
    leaseMs: number,
    /** Sagas that are not taken, though they may be due. */
    except?: readonly string[],
  ): Promise<readonly SagaRecord[]>;
  /** The versions of the sagas that are still held. A saga that is missing was lost. */
  renew(holds: readonly Claimed[], leaseMs: number): Promise<ReadonlyMap<string, number>>;
  /**
   * Changes a saga from outside its worker: reads it under a lock, and appends the line that `decide` returns. A saga that no
   * worker has becomes due at once.
   */
  appendByOperator(id: string, decide: (record: SagaRecord) => OperatorLine | undefined): Promise<SagaRecord>;
  /** The signals and events that were sent to a saga, in their order. */
  arrivals(id: string): Promise<readonly Arrival[]>;
  drained(): Promise<void>;
}

export interface OperatorLine {
  readonly entry: Entry;
}
