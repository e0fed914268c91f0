/**
 * The port between the engine and the storage of sagas: create, append, load, claim, renew. A checkpoint is one line of the
 * log at the next version. If that version is taken, the checkpoint is refused and nothing of it is written.
 */
import type { DutyLook } from "../../runtime/duty.ts";
import type { Entry } from "../../core/saga/entry.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import type { Plan } from "../../core/saga/plan.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/steps/wait.ts";
import type { Attributes } from "../../core/start/attributes.ts";
import type { LimitUsage } from "../../core/start/held.ts";
import type { Limits } from "../../core/start/limits.ts";
import type { StartControls } from "../../core/start/controls.ts";
import type { Session, SyncSession } from "../../storage/database.ts";
import type { Submission } from "../../storage/write/group-writer.ts";

/** Lines that come from outside the worker carry a token that no worker has. */
export const OPERATOR_TOKEN = -1;

/** A line of the log as it was read: the version that it made, and the token under which it was written. */
export type LogEntry = Entry & { readonly id: number; readonly token: number };

/** Operators have added lines after this version of which the calls under way must know. Those of a paused saga may end. */
export function stopsCalls(
  { entries, state }: Pick<SagaRecord, "entries" | "state">,
  version: number,
): boolean {
  const isNews = ({ id, token, step }: LogEntry): boolean =>
    id > version && token === OPERATOR_TOKEN && step !== "$pause" && step !== "$resume";
  return state.paused === undefined && entries.some(isNews);
}

/** A saga as it was read: its row, its log, and what they add up to. */
export interface SagaRecord {
  readonly id: string;
  readonly name: string;
  readonly definition: number;
  /** The saga that started it, and the step of that saga. */
  readonly parent?: Parent | undefined;
  /** The saga that it takes back. */
  readonly reverses?: string | undefined;
  readonly input: unknown;
  readonly plan: Plan;
  readonly begun: boolean;
  readonly version: number;
  /** The newest token that has written a line: a worker with an older one has lost the saga. */
  readonly token: number;
  readonly owner: string | undefined;
  readonly recoveryAttempts: number;
  readonly priority: number;
  readonly attributes: Attributes | undefined;
  /** Its limits by key, as they were at its start. */
  readonly limits?: Limits | undefined;
  /** The database's epoch when it was read. */
  readonly epoch: number;
  /** Instants by the database's clock, and that clock's own reading, so that only differences are used. */
  readonly nowMs: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly deadlineAtMs: number | undefined;
  /** The gate of its start; undefined if it was due at once. */
  readonly runAtMs: number | undefined;
  readonly dueAtMs: number | undefined;
  /** What its calls have reported of their progress (core/saga/progress.ts). */
  readonly progress?: string | undefined;
  readonly entries: readonly LogEntry[];
  readonly state: SagaState;
}

/** The saga that waits for the end of another one, and its step. */
export interface Parent {
  readonly id: string;
  readonly step: string;
}

/** An event that a saga will wait for. */
export interface Interest {
  readonly eventType: string;
  readonly field: string;
  /** As JSON, so that a number is not taken for a text. */
  readonly value: string;
  /** The step, with its alternative behind a slash if it waits for the first of several. */
  readonly step: string;
  /** The order among the events that the saga waits for. */
  readonly place: number;
}

export interface NewSaga extends StartControls {
  readonly id: string;
  readonly name: string;
  readonly definition: number;
  readonly input: string;
  /** Empty where a reference started it: its first claim records the plan. */
  readonly plan: Plan;
  /** Counted from its gate. */
  readonly deadlineMs: number | undefined;
  /** Begun at once by this owner under this lease; otherwise any worker may claim it. */
  readonly owner: string | undefined;
  /** The owner's claim; 0 where there is none. */
  readonly token: number;
  readonly leaseMs: number;
  readonly interests: readonly Interest[];
  /** The saga that starts it, and waits for its end. */
  readonly parent?: Parent | undefined;
  /** Its limits by key: a saga that has any has no owner at its start. */
  readonly limits?: Limits | undefined;
}

/** An event or a call for the outbox, written in the same commit as the line that it belongs to. */
export interface Emission {
  readonly entryId: string;
  readonly type: string;
  readonly payload: string | null;
  /** The version of the event's schema. Default: 1. */
  readonly version: number;
  /** It is a durable call of this name, not an event. */
  readonly isCall?: boolean | undefined;
  /** The limits by key of a call. */
  readonly limits?: Limits | undefined;
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
  /** The saga that waits for the end of this one. */
  readonly parent?: Parent | undefined;
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
  /** What the saga waits for while no worker has it. Something that arrived after `seen` makes it due at once. */
  readonly awaits?: { readonly names: readonly string[]; readonly seen: number } | undefined;
  /** JSON of why it failed or stalled. */
  readonly error: string | null;
  /** The label by which lists find it. Default: none. */
  readonly errorLabel?: string | null | undefined;
  /** A step behind the pivot keeps failing and needs a person. Default: false. */
  readonly failing?: boolean | undefined;
  /** The saga made progress: reset its recovery budget. */
  readonly recovered: boolean;
  /** The progress of its calls; null for none any more. Undefined: it stays as it is. */
  readonly progress?: string | null | undefined;
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

/** A claim that is renewed. */
export interface RenewedClaim extends Claimed {
  /** New progress of its calls. It is stored unless the saga's row has a later version than this. */
  readonly reported?: { readonly text: string; readonly version: number } | undefined;
}

export interface Journal {
  /** Events that steps emit are kept in the same commit as the line that they belong to. */
  readonly keepsEvents: boolean;
  /** True if the saga was created, false if a saga with this id exists. */
  create(saga: NewSaga): Promise<boolean>;
  /**
   * All of them or none, in one commit or in the caller's own transaction. `check` gets each start whose id exists, with the saga
   * that has it, and refuses all by throwing. Returns the saga that existed, or "created", for each.
   */
  createAll(sagas: readonly NewSaga[], check: CheckFound, session?: Session): Promise<readonly Founded[]>;
  /** The same in a synchronous transaction. */
  createAllNow(session: SyncSession, sagas: readonly NewSaga[], check: CheckFound): readonly Founded[];
  /** The answer is false if that version is taken: nothing was changed. It never comes before `append` has returned. */
  append(submission: Submission<Checkpoint, boolean>): void;
  /** In a transaction that also holds a step's own effects. */
  appendIn(session: Session, checkpoint: Checkpoint): Promise<boolean>;
  /** With a session, as that transaction sees it. */
  load(id: string, session?: Session): Promise<SagaRecord | undefined>;
  /**
   * What a worker's look reads of sagas of these kinds; it passes on which names are paused. Undefined on a storage that the user
   * implements.
   */
  look?(kinds: () => readonly KnownKind[], onPaused: (names: ReadonlySet<string>) => void): DutyLook;
  claim(
    kinds: readonly KnownKind[],
    limit: number,
    owner: string,
    leaseMs: number,
    /** Sagas that are not taken, though they may be due. */
    except?: readonly string[],
  ): Promise<readonly SagaRecord[]>;
  /** The versions of the sagas that are still held. A saga that is missing was lost. */
  renew(holds: readonly RenewedClaim[], leaseMs: number): Promise<ReadonlyMap<string, number>>;
  /**
   * Changes a saga from outside its worker: reads it under a lock, and appends the line that `decide` returns. A saga that no
   * worker has becomes due at once. `first` runs in the same transaction, once the saga is locked.
   */
  appendByOperator(
    id: string,
    decide: (record: SagaRecord) => OperatorLine | undefined,
    first?: (session: Session) => Promise<void>,
  ): Promise<SagaRecord>;
  /** The signals and events that were sent to a saga, in their order. */
  arrivals(id: string): Promise<readonly Arrival[]>;
  drained(): Promise<void>;
  /** What is taken of the keys of these limits. Undefined on a storage that the user implements. */
  usage?(name: string, limits: Limits): Promise<LimitUsage>;
  /** Children and reversals; undefined if the storage cannot keep them. */
  readonly family: Family | undefined;
}

/** Sagas that belong together: a parent and the children of its steps, a saga and the one that takes it back. */
export interface Family {
  /** The child that a step has started. */
  childOf(parent: Parent): Promise<SagaRecord | undefined>;
  /**
   * Makes the saga that takes back this one, under one of these ids, or finds it. `check` throws if the saga cannot be taken back.
   * Undefined: there is no such saga.
   */
  reverse(reversal: NewReversal, check: (record: SagaRecord) => void): Promise<SagaRecord | undefined>;
  /** The children of a saga and the one that takes it back, without their logs. */
  relatives(id: string): Promise<readonly Relative[]>;
}

export interface NewReversal {
  /** The saga that is taken back. */
  readonly id: string;
  /** The ids that the reversal may get, in this order. */
  readonly ids: readonly string[];
  readonly entry: Entry;
  /** The saga that waits for its end. */
  readonly parent: Parent | undefined;
}

export interface Relative {
  readonly id: string;
  readonly status: SagaStatus;
  /** The step of the parent; undefined of a reversal that was asked for. */
  readonly step: string | undefined;
  /** It takes the saga back. */
  readonly isReversal: boolean;
}

/** What became of a start. */
export type Founded = "created" | SagaRecord;

/** Throws if a start and the saga that has its id are not the same. `found` is undefined if that saga was removed meanwhile. */
export type CheckFound = (saga: NewSaga, found: SagaRecord | undefined) => void;

export interface OperatorLine {
  readonly entry: Entry;
  /** A saga that no worker has stays due when it was. Default: it becomes due at once. */
  readonly keepsGate?: boolean | undefined;
}
