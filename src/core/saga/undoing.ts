/** Which steps of a saga may still have to be undone, and whether they can be. */
import type { PlannedStep } from "./plan.ts";
import type { SagaState, StepState } from "./state.ts";

/**
 * May the saga still be undone? Not once the pivot has begun and has not been refused: it may have happened, and
 * nothing after it is built to be taken back. A pivot with an undo of its own can be, as long as it is not done.
 */
export function canTurn(state: SagaState): boolean {
  const { pivot, plan } = state;
  if (pivot < 0) return true;
  return canTakeBack(state, pivot) && (plan[pivot]?.fallback === undefined || canTakeBack(state, pivot + 1));
}

function canTakeBack({ plan, steps }: SagaState, index: number): boolean {
  const [planned, step] = [plan[index] as PlannedStep, steps[index] as StepState];
  const { act } = step;
  if (act === "none" || act === "chosen" || (act === "refused" && !wasInDoubt(planned, step))) return true;
  return act !== "done" && act !== "skipped" && (planned.undo || planned.atomic);
}

/** The step whose undo is due next: the last one that may have happened and is not undone yet. */
export function undoDue(state: SagaState): number {
  return state.steps.findLastIndex((_, index) => isUndoDue(state, index));
}

export function isUndoDue({ plan, steps }: SagaState, index: number): boolean {
  const [planned, step] = [plan[index] as PlannedStep, steps[index] as StepState];
  return (
    planned.undo &&
    (step.undo === "none" || step.undo === "begun" || step.undo === "retry") &&
    mayHaveHappened(planned, step)
  );
}

export function mayHaveHappened(planned: PlannedStep, step: Pick<StepState, "act" | "acts">): boolean {
  if (step.act === "done") return true;
  if (step.act === "refused") return planned.undoOnErr || wasInDoubt(planned, step);
  if (planned.atomic) return false;
  return step.act === "begun" || step.act === "retry" || step.act === "broken";
}

/** A try before the refused one may have succeeded: it counts as if it had. */
function wasInDoubt(planned: PlannedStep, step: Pick<StepState, "acts">): boolean {
  return step.acts > 1 && !planned.atomic;
}

/** The step of which a call is known to run although its time is over, unless that call is an undo's that is tried again. */
export function runningStep({ steps }: SagaState): number {
  return steps.findIndex(
    ({ runningSinceMs, undo }) => runningSinceMs !== undefined && undo !== "retry" && undo !== "begun",
  );
}
