/**
 * A step that has a fallback stands in the plan right before it. One of the two counts: the first where it is done, the
 * second once it was chosen. Which one was chosen is a line of the log, written before the second one begins, so
 * that whoever takes the saga over goes on with the same one.
 */
import type { SagaState, StepState } from "./state.ts";

type Branches = Pick<SagaState, "plan" | "steps">;

/** The step that the saga stands at; -1 where it has come to its end. */
export function standing(state: Branches): number {
  const { steps } = state;
  for (let index = 0; index < steps.length; index++) {
    const { act } = steps[index] as StepState;
    if (act !== "done" && act !== "skipped" && !isSpared(state, index) && !isPassedOver(state, index))
      return index;
  }
  return -1;
}

/** A fallback that nobody has chosen. Whoever stands before it is still under way, or did without it. */
export function isSpared({ plan, steps }: Branches, index: number): boolean {
  return plan[index]?.instead !== undefined && steps[index]?.act === "none";
}

/** It failed, and its fallback has its place. */
export function isPassedOver({ plan, steps }: Branches, index: number): boolean {
  return plan[index]?.fallback !== undefined && steps[index + 1]?.act !== "none";
}
