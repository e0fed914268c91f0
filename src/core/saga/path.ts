/** The way of a saga through its plan: which steps it passes, and where it stands. */
import { partName } from "./part-name.ts";
import type { PlannedStep } from "./plan.ts";
import type { SagaState, StepState } from "./state.ts";
import { isPassedOver, isSpared } from "./steps/fallback.ts";

/** The name in the log of what begins with a step: its first round, or the step itself. */
export function openingName({ name, repeat }: PlannedStep): string {
  return repeat && repeat.delayMs === undefined ? partName(name, 1) : name;
}

type Steps = Pick<SagaState, "plan" | "steps" | "resolved">;

/** The index of the step that the saga has come to; -1 if all are done. */
export function currentStep(state: Steps): number {
  const { steps, plan } = state;
  if (state.resolved !== undefined) return resolvedStep(state);
  for (let index = 0; index < steps.length; index++) {
    const { act } = steps[index] as StepState;
    if (act === "done" || act === "skipped" || isSpared(state, index) || isPassedOver(state, index)) continue;
    const { branch, end } = plan[index] as PlannedStep;
    if ((end === undefined || end === "completed") && (branch === undefined || isChosen(state, index)))
      return index;
  }
  return -1;
}

/** A person has ended the saga: only what follows its end is left. */
function resolvedStep({ plan, steps }: Steps): number {
  const index = plan.findIndex(({ end }) => end === "completed");
  const { act } = steps[index] ?? {};
  return act === "done" || act === "skipped" ? -1 : index;
}

/**
 * Is this step on the way of the saga? It is not if it belongs to a branch that was not chosen, or whose choice is still to come.
 * The choice itself may stand in a branch.
 */
export function isChosen({ plan, steps }: Steps, index: number): boolean {
  let branch = plan[index]?.branch;
  while (branch) {
    const { choice, when } = branch;
    const place = plan.findIndex(({ name }) => name === choice);
    const { act, result } = steps[place] as StepState;
    if ((act !== "done" && act !== "skipped") || (result === true) !== when) return false;
    branch = plan[place]?.branch;
  }
  return true;
}
