/** The options of `prove`: the saga, its fakes and its invariant. */
import type { Duration } from "../../core/duration.ts";
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
  /** The failures that steps may return as `err`, by step. Each of them is tried. Default: none. */
  readonly errs?: { readonly [Step in keyof Results]?: Failure };
  /**
   * Sends the signal or the event that a step waits for, by step. If the wait has a time limit, it is also left out
   * once.
   */
  readonly tell?: {
    readonly [Step in keyof Results]?: (amends: Amends<SqliteHandle>, sagaId: string) => unknown;
  };
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

/** A schedule in which something was wrong. */
export interface ProveFailure extends ProvenSchedule {
  /** What was wrong, in words. */
  readonly problem: string;
  /** What the invariant threw. */
  readonly cause?: unknown;
}

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
  /** Steps without a compensation that acted in sagas that failed. Check that there is nothing to undo. */
  readonly withoutUndo: readonly string[];
  /** Acts and compensations without a `timeout` or a deadline. That they never return was not tried. */
  readonly withoutLimit: readonly string[];
}

/** The same without type parameters, for the code that runs the proof. */
export interface Script {
  readonly makeSaga: (world: unknown) => SagaDefinition;
  readonly makeWorld: () => unknown;
  readonly input: unknown;
  readonly errs: Readonly<Record<string, unknown>>;
  readonly tell: Readonly<
    Record<string, ((amends: Amends<SqliteHandle>, sagaId: string) => unknown) | undefined>
  >;
  readonly prepare: ((database: SqliteHandle, world: unknown) => unknown) | undefined;
  readonly leaseMs: number;
}
