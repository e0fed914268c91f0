/** The options of `prove`: the saga, its fakes and its invariant. */
import type { Duration } from "../../core/duration.ts";
import type { OperatorNote } from "../../core/operator-note.ts";
import type { Amends } from "../../operate/amends.ts";
import type { SagaDefinition } from "../../sagas/define/definition.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import type { SqliteHandle } from "../../storage/sqlite/driver.ts";

/** The outcome of a saga that has ended. A stalled saga has not. */
export type EndedOutcome<Results, Failure> = Extract<
  SagaOutcome<Results, Failure>,
  { readonly status: "COMPLETED" | "FAILED" }
>;

/** The saga itself, or a function that makes it from the fakes that it calls. */
export type Provable<Input, Output, Results, Failure, World> =
  | SagaDefinition<Input, Output, Results, Failure>
  | ((world: World) => SagaDefinition<Input, Output, Results, Failure>);

/** The options of `prove`. */
export interface ProveOptions<Input, Results, Failure, World> {
  /** The input of the saga in every schedule. */
  readonly input: Input;
  /**
   * Makes the fakes that the steps call, anew for every schedule. A saga that is made by a function receives them; a
   * saga that calls fakes of its module resets them here.
   */
  readonly world?: () => World | Promise<World>;
  /**
   * Checks the world after the saga has ended, completed or undone. Return false or throw if something is wrong. It is
   * not called for a stalled saga.
   */
  readonly invariant?: (
    world: World,
    outcome: EndedOutcome<Results, Failure>,
  ) => boolean | void | Promise<boolean | void>;
  /**
   * The failures that steps may return as `err`, by step. Each of them is tried, also by each item and round. `"ship>label"` is step
   * `label` of the child that step `ship` starts. Default: none.
   */
  readonly errs?: { readonly [Step in keyof Results]?: Failure } & ByChildStep<unknown>;
  /**
   * Sends the signal or the event that a step waits for, by step: at the start of the saga, or of the child whose step it is. If the
   * step also goes on or fails without it, it is left out once; to a step in rounds it is once sent after the first round.
   */
  readonly tell?: { readonly [Step in keyof Results]?: ProveTell } & ByChildStep<ProveTell>;
  /**
   * Takes back each saga that has completed, with `amends.reverse`, and checks the world afterwards. The compensations of the reversal
   * fail and crash like any other. Return false or throw if something is left. Default: nothing is taken back.
   */
  readonly reversed?: (world: World) => boolean | void | Promise<boolean | void>;
  /** For transactional steps: creates your own tables in the in-memory SQLite database of each schedule. */
  readonly prepare?: (database: SqliteHandle, world: World) => unknown;
  /** The number of schedules that are run at most. If there are more, a spread selection is run. Default: 500. */
  readonly schedules?: number;
  /** The lease of your `Amends`: how long a saga whose process died waits. Default: 60s. */
  readonly lease?: Duration;
  /** Repeats only this schedule of an earlier report. */
  readonly seed?: string;
  /** Returns the report even if a schedule failed, instead of throwing. Default: false. */
  readonly report?: boolean;
  /** Called after every schedule. */
  readonly onProgress?: (progress: ProveProgress) => void;
}

/** Sends something to a saga. */
export type ProveTell = (amends: Amends<SqliteHandle>, sagaId: string) => unknown;

/** By the name of a step of a child: the name of the step that starts it, `>`, and its own name. */
export interface ByChildStep<T> {
  /** The step of a child, such as `"ship>label"`. */
  readonly [step: `${string}>${string}`]: T | undefined;
}

/** How far a proof has come. */
export interface ProveProgress {
  /** The number of schedules that were run. */
  readonly done: number;
  /** The number of schedules in all, as far as is known: a schedule can lead to further ones. */
  readonly of: number;
  /** The number of schedules that failed. */
  readonly failures: number;
}

/** A schedule, and the outcome of the saga in it. */
export interface ProvenSchedule {
  /** Pass it to `prove` as `seed` to repeat only this schedule. */
  readonly seed: string;
  /** The schedule in words. */
  readonly schedule: string;
  /** The outcome of the saga; undefined if it did not end. */
  readonly outcome: SagaOutcome | undefined;
}

/** What was wrong in a schedule. */
export interface ProveProblem {
  /** What was wrong, in words. */
  readonly problem: string;
  /** What the invariant threw. */
  readonly cause?: unknown;
}

/** A schedule in which something was wrong. */
export interface ProveFailure extends ProvenSchedule, ProveProblem {}

/** The result of a proof. */
export interface ProveReport {
  /** The number of schedules that were run. */
  readonly schedules: number;
  /** The number of schedules that were left out, as far as is known. Raise `schedules` to run them. */
  readonly leftOut: number;
  /** The schedules in which something was wrong; empty if the proof succeeded. */
  readonly failures: readonly ProveFailure[];
  /**
   * The schedules in which the saga stalled as it should: after a failed compensation, or a failed step after the
   * pivot.
   */
  readonly stalled: readonly ProvenSchedule[];
  /** Steps without a compensation that acted in sagas that failed, or were taken back. Check that there is nothing to undo. */
  readonly withoutUndo: readonly string[];
  /** Acts and compensations without a `timeout` or a deadline. That they never return was not tried. */
  readonly withoutLimit: readonly string[];
}

/** Who takes a saga back, and why. */
export const REVERSAL: OperatorNote = { reason: "the proof takes it back", by: "prove" };

/** The same without type parameters, for the code that runs the proof. */
export interface Script {
  readonly makeSaga: (world: unknown) => SagaDefinition;
  readonly makeWorld: () => unknown;
  readonly input: unknown;
  readonly errs: Readonly<Record<string, unknown>>;
  readonly tell: Readonly<Record<string, ProveTell | undefined>>;
  /** Each completed saga is taken back. */
  readonly isReversed: boolean;
  readonly prepare: ((database: SqliteHandle, world: unknown) => unknown) | undefined;
  readonly leaseMs: number;
}
