/**
 * The port between the driver (drive.ts) and whatever runs a saga durably. The driver asks the interpreter what is next and
 * has a host carry it out; it keeps no time, makes no promise race and calls no user code of its own. Today's host writes
 * checkpoints into a journal under a lease (journal-host.ts). A host on another durable-execution engine fits behind the same
 * methods: there each call is one recorded step, and the lines follow from the records at every replay.
 */
import type { CallCommand, Outcome } from "../../core/saga/interpreter.ts";
import type { Entry } from "../../core/saga/entry.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/steps/wait.ts";
import type { StepDefinition } from "../define/settings.ts";
import type { Emission, Move } from "../journal/journal.ts";

export interface SagaHost {
  /**
   * Milliseconds, of which only differences mean something: deadlines and due times are measured in them. A host that
   * replays answers with the time of its journal, never with that of the process that replays.
   */
  nowMs(): number;

  /** Nothing new may begin here: the driver gives the saga back as soon as no call of it is under way. */
  readonly isDraining: boolean;

  /**
   * A person holds the saga: calls that have begun are made and recorded, nothing else begins or is decided, and the driver gives the
   * saga back once no call of it is under way.
   */
  readonly isPaused: boolean;

  /**
   * `changed`: an operator may have added lines; the driver calls `reread`. `lost`: another worker may have the saga; the
   * driver waits for its calls and leaves. Calls under way have been told by then.
   */
  readonly interruption: "changed" | "lost" | undefined;

  /**
   * The settings of a step that are in force for this saga. A host that replays answers with those that it recorded when
   * the step was first called: definitions change between two replays.
   */
  settings(step: string): StepSettings;

  /**
   * Makes one call of a step's act or undo, under its idempotency key. At least once: if the process dies before the
   * outcome is durable, the next driver makes the call again, or undoes it. The outcome is durable when `record` of its line
   * has answered, or earlier. A transactional step answers `recorded`: its line was written in its own transaction.
   */
  call(command: CallCommand): PendingCall;

  /**
   * Resolves when one of these is over, when this long has passed, or when `interruption` or `isDraining` changes. It may
   * also resolve early; the driver looks again. All waiting of the driver is here and in `record`.
   */
  until(pendings: readonly Pending<unknown>[], ms?: number): Promise<void>;

  /**
   * Makes the lines durable, all or none of them, together with the emitted events and the change of the saga's status, and
   * applies them to the run (`Run.accept`). Fenced: if the saga has lines that the driver has not seen, nothing is
   * written. `changed`: lines were added from outside, and the run was read again. `lost`: another worker has the saga.
   * `left`: the lines had `rest`, and the saga was given back until then; another driver goes on from its log. A host that
   * waits in place answers `held` after that time. The host answers at once, by a promise, or `LATER`: then it calls the
   * listener, once, after `record` has returned.
   */
  record(lines: Lines, listener: RecordListener): Recording;

  /** Reads the saga again after `interruption` said `changed`, which is over by that. */
  reread(): Promise<"changed" | "lost">;

  /** Everything that was sent to the saga so far, in its order. A line that takes one of them names it: once only. */
  arrivals(): Promise<readonly Arrival[]>;

  /** Logs a failed try for operators: ids, names and labels. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Something that the host has under way. */
export interface Pending<T> {
  readonly isOver: boolean;
  /** Its result, once it is over. */
  readonly value: T | undefined;
}

export interface PendingCall extends Pending<CallEnd> {
  readonly command: CallCommand;
}

export type StepSettings = Pick<StepDefinition, "retry" | "compensateRetry" | "deadlineMs">;

/** Undefined: a shutdown or a loss has interrupted the call, which is no outcome. */
export type CallEnd = EndedCall | "recorded" | "changed" | "lost" | undefined;

/** What a call came to. */
export interface CallResult {
  readonly outcome: Outcome;
  readonly emissions: readonly Emission[];
  /** What was thrown, to tell trouble with the database from trouble with the step. Never stored. */
  readonly thrown?: unknown;
  /** The act succeeded after its deadline: the result is kept, and the saga turns back. */
  readonly expired?: boolean;
}

/** A call that has an outcome. */
export interface EndedCall extends CallResult {
  /** The call has outlived its time and has not returned: its answer, whenever it comes. */
  readonly late?: Pending<CallResult | undefined> | undefined;
}

export type Recorded = "held" | "left" | "changed" | "lost";

/** The listener will be called. */
export const LATER = "later";

export type Recording = Recorded | Promise<Recorded> | typeof LATER;

/** Waits for lines to be recorded. Neither function throws. */
export interface RecordListener {
  recorded(how: Recorded): void;
  /** The host cannot record: the driver waits for its calls and leaves. */
  failed(error: unknown): void;
}

/** Lines to write, mostly one, and what they add up to. */
export interface Lines {
  readonly entry: Entry;
  /** Lines after it, in the same commit. */
  readonly more: readonly Entry[] | undefined;
  readonly emissions: readonly Emission[];
  readonly state: SagaState;
  /** The saga is given back with these lines. */
  readonly rest: Rest | undefined;
}

/** How a saga is given back: it is due after this long, or when something arrives that it awaits. */
export interface Rest extends Pick<Move, "awaits"> {
  readonly releaseMs: number;
}
