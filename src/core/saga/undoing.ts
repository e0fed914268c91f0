/** Which steps of a saga may still have to be undone, and whether they can be. */
import type { PlannedStep } from "./plan.ts";
import type { SagaState, StepState } from "./state.ts";
import { lastItem } from "./steps/items.ts";

/**
 * May the saga still be undone? Not once the pivot has begun and has not been refused: it may have happened, and
 * nothing after it is built to be taken back. A pivot with an undo of its own can be, as long as it is not done.
 */
export function canTurn(state: SagaState): boolean {
  const { pivot, plan } = state;
  if (state.isReversal || isCompleting(state)) return false;
  if (pivot < 0) return true;
  return canTakeBack(state, pivot) && (plan[pivot]?.fallback === undefined || canTakeBack(state, pivot + 1));
}

/** All steps are done, and what follows the end has begun. */
export function isCompleting({ plan, steps, resolved }: SagaState): boolean {
  // What follows the ends stands behind all other steps.
  let index = plan.length - 1;
  while (plan[index]?.end !== undefined && plan[index]?.end !== "completed") index--;
  return plan[index]?.end === "completed" && (steps[index]?.act !== "none" || resolved === "COMPLETED");
}

function canTakeBack({ plan, steps }: SagaState, index: number): boolean {
  const [planned, step] = [plan[index] as PlannedStep, steps[index] as StepState];
  const { act } = step;
  if (act === "none" || act === "chosen" || (act === "refused" && !wasInDoubt(planned, step))) return true;
  return act !== "done" && act !== "skipped" && (planned.undo || planned.atomic);
}

/** A step, or one item of its list. */
export interface Place {
  readonly index: number;
  readonly item: number | undefined;
}

/** What is undone next: the last step, or item, that may have happened and is not undone yet. */
export function undoDue(state: SagaState): Place | undefined {
  if (state.resolved === undefined)
    for (let index = state.steps.length - 1; index >= 0; index--) {
      const place = undoDueAt(state, index);
      if (place) return place;
    }
  return endDue(state);
}

/** What follows all undos: those of a saga that failed, or of one that takes another back. -1: nothing does. */
export function endOfUndoing({ plan, isReversal }: SagaState): number {
  const wanted = isReversal ? "reversed" : "failed";
  return plan.findIndex(({ end }) => end === wanted);
}

/** It comes last, and only if everything else is undone, or a person has ended the saga. */
function endDue(state: SagaState): Place | undefined {
  const index = endOfUndoing(state);
  if (index < 0 || !isOpen(state.steps[index] as StepState)) return undefined;
  return state.resolved === undefined && failedUndo(state) ? undefined : { index, item: undefined };
}

/** The first step whose undo has used up its tries. */
export function failedUndo({ steps }: SagaState): Place | undefined {
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as StepState;
    if (step.undo === "failed") return { index, item: undefined };
    const item = step.items ? lastItem(step.items, ({ undo }) => undo === "failed") : -1;
    if (item >= 0) return { index, item };
  }
  return undefined;
}

/** The same of one step. The list of a step does nothing: its items do. */
export function undoDueAt({ plan, steps }: SagaState, index: number): Place | undefined {
  const [planned, step] = [plan[index] as PlannedStep, steps[index] as StepState];
  if (!planned.undo || planned.end) return undefined;
  if (!planned.each) return isUndoDue(planned, step) ? { index, item: undefined } : undefined;
  const item = step.items ? lastItem(step.items, (one) => isUndoDue(planned, one)) : -1;
  return item < 0 ? undefined : { index, item };
}

function isUndoDue(planned: PlannedStep, step: StepState): boolean {
  return isOpen(step) && mayHaveHappened(planned, step);
}

function isOpen({ undo }: StepState): boolean {
  return undo === "none" || undo === "begun" || undo === "retry" || undo === "waiting";
}

export function mayHaveHappened(
  planned: PlannedStep,
  step: Pick<StepState, "act" | "acts" | "round">,
): boolean {
  const { act, round } = step;
  // A child that failed has undone itself.
  if (planned.child !== undefined && act === "waiting") return true;
  // A round before this one has happened, whatever this one came to; a step that ended before its first round did nothing.
  if (round !== undefined && round > (act === "waiting" ? 0 : 1)) return true;
  if (act === "done") return round !== 0;
  if (act === "refused")
    return planned.undoOnErr || (planned.child === undefined && wasInDoubt(planned, step));
  if (planned.atomic) return false;
  return act === "begun" || act === "retry" || act === "broken";
}

/** A try before the refused one may have succeeded: it counts as if it had. */
function wasInDoubt(planned: PlannedStep, step: Pick<StepState, "acts">): boolean {
  return step.acts > 1 && !planned.atomic;
}

/** Where a call is known to run although its time is over, unless that call is an undo's that is tried again. */
export function runningPlace(
  { steps }: SagaState,
  isMeant: (step: StepState) => boolean = isHeld,
): Place | undefined {
  const isRunning = (step: StepState): boolean => step.runningSinceMs !== undefined && isMeant(step);
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as StepState;
    if (isRunning(step)) return { index, item: undefined };
    const item = step.items && step.items.running > 0 ? lastItem(step.items, isRunning) : -1;
    if (item >= 0) return { index, item };
  }
  return undefined;
}

function isHeld({ undo }: StepState): boolean {
  return undo !== "retry" && undo !== "begun";
}
