/** What `prove` is told: the saga, its world, and what must hold in it. */
import type { Duration } from "../../core/duration.ts";
import type { Amends } from "../../operate/amends.ts";
import type { SagaDefinition } from "../../sagas/define/definition.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import type { SqliteHandle } from "../../storage/sqlite/driver.ts";

/** A saga that has ended by itself. One that waits for a person has not. */
export type EndedOutcome<Results, Failure> = Extract<
  SagaOutcome<Results, Failure>,
  { readonly status: "COMPLETED" | "FAILED" }
>;

/** The saga itself, or what makes it of the services that it calls. */
export type Provable<Input, Output, Results, Failure, World> =
  | SagaDefinition<Input, Output, Results, Failure>
  | ((world: World) => SagaDefinition<Input, Output, Results, Failure>);

/** The options of `prove`. */
export interface ProveOptions<Input, Results, Failure, World> {
  /** What every run of the saga is started with. */
  readonly input: Input;
  /**
   * Makes the fakes that the steps call, afresh for every schedule. A saga that is made by a function gets them from
   * there; one that calls fakes of its module has them reset here.
   */
  readonly world?: () => World | Promise<World>;
  /**
   * What must hold in the world wherever the saga has ended, completed or undone. Return false, or throw with a word on
   * what is wrong. Not asked where the saga waits for a person.
   */
  readonly invariant?: (
    world: World,
    outcome: EndedOutcome<Results, Failure>,
  ) => boolean | void | Promise<boolean | void>;
  /** The steps that may answer with `err`, and with what: each is made to. */
  readonly errs?: { readonly [Step in keyof Results]?: Failure };
  /** For steps that wait for a signal or an event: sends it. Where the wait has a limit, it is also left out once. */
  readonly tell?: {
    readonly [Step in keyof Results]?: (amends: Amends<SqliteHandle>, sagaId: string) => unknown;
  };
  /** For transactional steps: makes your own tables in the SQLite database in memory that each schedule has. */
  readonly prepare?: (database: SqliteHandle, world: World) => unknown;
  /** How many schedules are run at most; of more than that, a sample. Default: 500. */
  readonly schedules?: number;
  /** The lease of your `Amends`: how long a saga whose process died waits. Default: 60s. */
  readonly lease?: Duration;
  /** Repeats this one schedule of a report. */
  readonly seed?: string;
  /** Return the report also where something is wrong, instead of throwing. */
  readonly report?: boolean;
  /** Told after every schedule. */
  readonly onProgress?: (progress: ProveProgress) => void;
}

/** How far a proof is. */
export interface ProveProgress {
  /** The number of schedules that were run. */
  readonly done: number;
  /** As far as is known: what one schedule leads to makes others. */
  readonly of: number;
  /** The number of schedules that failed. */
  readonly failures: number;
}

/** A schedule, and how the saga stood in the end. */
export interface ProvenSchedule {
  /** Give it to `prove` again to repeat this schedule alone. */
  readonly seed: string;
  /** The schedule in words. */
  readonly schedule: string;
  /** Undefined where the saga did not come to an end. */
  readonly outcome: SagaOutcome | undefined;
}

/** A schedule after which the invariant did not hold. */
export interface ProveFailure extends ProvenSchedule {
  /** What was wrong. */
  readonly problem: string;
  /** What the invariant threw. */
  readonly cause?: unknown;
}

/** The result of `prove`. */
export interface ProveReport {
  /** How many schedules were run. */
  readonly schedules: number;
  /** How many more there would have been, as far as is known: raise `schedules` for them. */
  readonly leftOut: number;
  /** The schedules that failed. */
  readonly failures: readonly ProveFailure[];
  /** Where the saga waits for a person, as it must: an undo that was made to fail, a step after the pivot. */
  readonly stalled: readonly ProvenSchedule[];
  /** Steps without a compensation that acted in sagas that failed: is there really nothing to take back? */
  readonly withoutUndo: readonly string[];
  /** Acts and undos that no `timeout` and no deadline stops: what if they never answer? It was not tried. */
  readonly withoutLimit: readonly string[];
}

/** The same for whoever runs it, who does not know the types. */
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
