/**
 * A step with a fallback stands in the plan right before the fallback. One of the two counts: the step if it is done, the
 * fallback once it was chosen. The choice is a line of the log, written before the fallback begins, so that the next worker
 * goes on with the same one.
 */
import type { SagaState, StepState } from "./state.ts";

type Branches = Pick<SagaState, "plan" | "steps">;

/** The index of the step that the saga has come to; -1 if all are done. */
export function currentStep(state: Branches): number {
  const { steps } = state;
  for (let index = 0; index < steps.length; index++) {
    const { act } = steps[index] as StepState;
    if (act !== "done" && act !== "skipped" && !isSpared(state, index) && !isPassedOver(state, index))
      return index;
  }
  return -1;
}

/** A fallback that was not chosen: the step before it is under way, or succeeded. */
export function isSpared({ plan, steps }: Branches, index: number): boolean {
  return plan[index]?.instead !== undefined && steps[index]?.act === "none";
}

/** It failed, and its fallback has its place. */
export function isPassedOver({ plan, steps }: Branches, index: number): boolean {
  return plan[index]?.fallback !== undefined && steps[index + 1]?.act !== "none";
}
