/** What a saga's end is to whoever waits for it. */
import type { Failure } from "../../core/saga/entry.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import { partOf } from "../../core/saga/part-name.ts";
import { indexOf, nameAt, stateAt, type SagaState, type StepState } from "../../core/saga/state.ts";
import { itemAt, type Items } from "../../core/saga/steps/items.ts";
import type { ChildEnd } from "../../core/saga/steps/child.ts";
import type { Place } from "../../core/saga/undoing.ts";

/**
 * Why a saga compensates: a step returned `err`, or a call failed. `terminal`: a permanent error. `exhausted`: the
 * attempts are used up, or the rounds. `unfit`: a result that cannot be stored. `open`: an open circuit breaker. `deadline`: a
 * deadline has passed. `child`: a child saga failed. `cancelled`: the saga was cancelled.
 */
export type SagaFailure<E = unknown> =
  | { readonly kind: "err"; readonly value: E; readonly label: string }
  | {
      readonly kind: "terminal" | "exhausted" | "unfit" | "open" | "deadline" | "child" | "cancelled";
      readonly label: string;
      readonly message?: string;
    };

/** A compensation that failed permanently. */
export interface UndoFailure {
  /** The name of the step. */
  readonly step: string;
  /** The label of the error. */
  readonly label: string;
  /** The kind of failure, such as `terminal` for a permanent error. */
  readonly kind: string;
  /** The message of the error, if `keepMessages` is on. */
  readonly message?: string;
}

/**
 * How a saga ended: COMPLETED with the results of its steps, FAILED with the error after everything was undone, or
 * STALLED, which needs an operator.
 */
export type SagaOutcome<Results = unknown, E = unknown> =
  | { readonly status: "COMPLETED"; readonly id: string; readonly results: Results }
  | {
      /** Everything that may have happened is undone. */
      readonly status: "FAILED";
      readonly id: string;
      readonly step: string | undefined;
      readonly error: SagaFailure<E>;
    }
  | {
      /** The saga needs an operator: see `amends.attention`. */
      readonly status: "STALLED";
      readonly id: string;
      readonly step: string | undefined;
      readonly reason: string;
      /** Why the saga compensates; undefined if it does not. */
      readonly error: SagaFailure<E> | undefined;
      readonly undoErrors: readonly UndoFailure[];
    };

/** Undefined while the saga is under way. */
export function outcomeOf(id: string, state: SagaState): SagaOutcome | undefined {
  switch (state.status) {
    case "COMPLETED":
      return { status: "COMPLETED", id, results: resultsOf(state) };
    case "FAILED":
      return { status: "FAILED", id, step: state.failure?.step, error: failureOf(state.failure) ?? RESOLVED };
    case "STALLED":
      return {
        status: "STALLED",
        id,
        step: state.stall?.step ?? state.failure?.step,
        reason: stallReason(state),
        error: failureOf(state.failure),
        undoErrors: undoErrorsOf(state),
      };
    default:
      return undefined;
  }
}

/** What the end of a child is to its parent. */
export function childEndOf(state: SagaState): ChildEnd {
  if (state.status === "COMPLETED")
    return { status: "COMPLETED", results: state.isReversal ? undefined : resultsOf(state) };
  const { label, kind, error } = state.failure ?? {
    label: RESOLVED.label,
    kind: "cancelled",
    error: undefined,
  };
  return { status: "FAILED", label, isErr: kind === "err", error };
}

/** The failure of a saga that a person has ended. */
export const RESOLVED: SagaFailure = { kind: "cancelled", label: "ResolvedByHand" };

/** What the finished steps returned, by name. */
export function resultsOf({ plan, steps }: SagaState): Record<string, unknown> {
  const results: Record<string, unknown> = {};
  for (let index = 0; index < steps.length; index++) {
    const { act, result, items } = steps[index] as StepState;
    if (plan[index]?.end) continue;
    if (act === "done" || (act === "skipped" && result !== undefined))
      results[resultName(plan[index] as PlannedStep)] = items ? itemResults(items) : result;
  }
  return results;
}

/** What the items of a list returned, in their order. */
function itemResults(items: Items): readonly unknown[] {
  return items.list.map(({ key, value }, number) => ({
    key,
    item: value,
    result: itemAt(items, number)?.result,
  }));
}

/** What a fallback returns is the result of the step whose place it took. */
export function resultName({ name, instead }: Pick<PlannedStep, "name" | "instead">): string {
  return instead ?? name;
}

export function failureOf(failure: Failure | undefined): SagaFailure | undefined {
  if (!failure) return undefined;
  const { kind, label, error, message } = failure;
  if (kind === "err") return { kind, value: error, label };
  return { kind: kind === "retry" ? "exhausted" : kind, label, ...(message !== undefined && { message }) };
}

export function undoErrorsOf(state: SagaState): readonly UndoFailure[] {
  return failedUndos(state).map(({ index, item }) => {
    const { kind, label, message } = stateAt(state, index, item).undoFailure as Failure;
    const step = nameAt(state, index, item);
    return { step, kind, label, ...(message !== undefined && { message }) };
  });
}

/** The steps and items whose undo has used up its tries, in their order. */
export function failedUndos({ steps }: SagaState): readonly Place[] {
  return steps.flatMap(({ undo, items }, index) => {
    const failed: Place[] = undo === "failed" ? [{ index, item: undefined }] : [];
    for (let item = 0; item < (items?.list.length ?? 0); item++)
      if (itemAt(items as Items, item)?.undo === "failed") failed.push({ index, item });
    return failed;
  });
}

export function stallReason(state: SagaState): string {
  const { stall } = state;
  switch (stall?.kind) {
    case "undo-failed":
      return `the undo of step ${String(stall.step)} failed (${String(stall.label)})`;
    case "forward-only":
      // A pivot that clearly said no turns the saga back: this one may have happened.
      if (state.plan.some(({ name, pivot }) => pivot && name === stall.step))
        return `it is unknown whether the pivot ${String(stall.step)} happened (${String(stall.label)}; a try threw or was interrupted), so nothing was undone`;
      return `step ${String(stall.step)} failed (${String(stall.label)}) where the saga can only go forward`;
    case "running":
      return isUndone(state, stall.step)
        ? `the undo of step ${String(stall.step)} has not returned${sinceText(stall.sinceMs)}: the saga goes on when it returns`
        : `step ${String(stall.step)} has not returned${sinceText(stall.sinceMs)}: nothing is undone while it may be running`;
    case "misfit":
      return `its definition no longer fits: ${String(stall.reason)}`;
    case "recoveries":
      return `${String(stall.reason)} without getting on`;
    default:
      return stall?.reason ?? "unknown";
  }
}

/** The undo of this step was called: a call of the step that still runs is one of the undo. */
function isUndone(state: SagaState, step: string = ""): boolean {
  const { undo } = stateAt(state, indexOf(state, step), partOf(step).number);
  return undo !== "none";
}

function sinceText(sinceMs: number | undefined): string {
  return sinceMs === undefined ? "" : ` since ${new Date(sinceMs).toISOString()}`;
}
