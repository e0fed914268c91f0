/** The steps of a group as they are written: like any step, but without their siblings' results. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FailureOf, Fresh, With } from "../results.ts";
import type { JsonProgress } from "./progress.ts";
import type { Acting, ForwardOnly, StepOptions, Undoable } from "./step.ts";

/** The options of a group of parallel steps. */
export interface ParallelOptions {
  /** The number of the group's steps that run at once. Default: all. */
  readonly concurrency?: number;
}

/**
 * Each transaction would hold a connection while the others act, and none could persist its outcome before it ends. Before a fallback
 * acts, its step is undone, and nothing is undone while others act.
 */
interface OnlyAlone {
  /** Not allowed in a group: put a transactional step before or after the group. */
  readonly transaction?: "A step of a group cannot be transactional: put it before or after the group.";
  /** Not allowed in a group: put a step with a fallback before or after the group. */
  readonly fallback?: "A step of a group cannot have a fallback: put it before or after the group.";
}

/** The options of a step in a group before the pivot. */
export interface MemberOptions<Input, Results, Value, Progress extends StandardSchemaV1 = JsonProgress>
  extends
    Acting<Input, Results, Value, undefined, Progress>,
    Undoable<Input, Results, Value, undefined, Progress>,
    Pick<StepOptions<Input, Results, Value, undefined>, "undoOnErr">,
    OnlyAlone {}

/** The options of a step in a group after the pivot. */
export interface ForwardMemberOptions<Input, Results, Value, Progress extends StandardSchemaV1 = JsonProgress>
  extends Acting<Input, Results, Value, undefined, Progress>, ForwardOnly, OnlyAlone {}

/** Steps that run in parallel. `Results` are those of the steps before the group, `Own` those of its steps. */
export interface StepGroup<Input, Results, Own, Failure> {
  /** Adds a step to the group. */
  step<const Name extends string, Value, Progress extends StandardSchemaV1 = JsonProgress>(
    name: Name & Fresh<Name, Results & Own>,
    options: MemberOptions<Input, Results, Value, Progress>,
  ): StepGroup<Input, Results, With<Own, Name, Value>, Failure | FailureOf<Value>>;
  /** Only for the compiler. */
  readonly types?: { readonly own: Own; readonly failure: Failure };
}

/** Steps after the pivot that run in parallel. */
export interface ForwardGroup<Input, Results, Own, Failure> {
  /** Adds a step to the group. If it fails permanently, the saga stalls until an operator decides. */
  step<const Name extends string, Value, Progress extends StandardSchemaV1 = JsonProgress>(
    name: Name & Fresh<Name, Results & Own>,
    options: ForwardMemberOptions<Input, Results, Value, Progress>,
  ): ForwardGroup<Input, Results, With<Own, Name, Value>, Failure | FailureOf<Value>>;
  /** Only for the compiler. */
  readonly types?: { readonly own: Own; readonly failure: Failure };
}

/** What the steps after a group see. */
export type Together<Results, Added> = {
  readonly [K in keyof Results | keyof Added]: K extends keyof Results
    ? Results[K]
    : K extends keyof Added
      ? Added[K]
      : never;
};
