/**
 * Where a saga goes after its steps have changed: it ends, turns back, stalls, or goes on after a stall. What always holds:
 * it is FAILED only if nothing is left that may have happened and can be undone, and nothing is undone while a call is
 * known to run.
 */
import type { ControlDetails } from "./entry.ts";
import { RECORDED } from "./machine.ts";
import { partOf, stepOf } from "./part-name.ts";
import { currentStep } from "./path.ts";
import { indexOf, isActing, moved, nameAt, patch, stateAt, type SagaState, type StepState } from "./state.ts";
import { isPassedOver } from "./steps/fallback.ts";
import { mapItems, openItems } from "./steps/items.ts";
import { actMachine } from "./steps/machine.ts";
import { reopened, skippedAct, skippedUndo, unheard } from "./steps/state.ts";
import { canTurn, endOfUndoing, failedUndo, runningPlace, undoDue, type Place } from "./undoing.ts";

type SagaFailure = NonNullable<SagaState["failure"]>;

export function cancelled(step?: string): SagaFailure {
  return { kind: "cancelled", label: "Cancelled", step };
}

/**
 * The saga goes back, unless it has passed the point after which it cannot. If other steps of a group still act, they are
 * waited for first, and the failure that came first stays the reason.
 */
export function turn(state: SagaState, failure: SagaFailure): SagaState {
  const turned: SagaState = { ...state, failure: state.failure ?? failure };
  if (isActing(turned)) return turned;
  // Nothing has begun, so there is nothing to undo.
  if (state.status === RECORDED) return moved(turned, "fail");
  if (canTurn(turned)) return settle(moved(turned, "turn"));
  const { label, step } = turned.failure as SagaFailure;
  return stalled(turned, { kind: "forward-only", label, step });
}

/** Ends the saga where nothing is left to do. */
export function settle(state: SagaState): SagaState {
  if (state.isReversal) return state.status === "RUNNING" ? settleBack(state, "complete") : state;
  if (state.status === "RUNNING") {
    const isResolved = state.resolved !== undefined;
    if (state.failure !== undefined && !isResolved) return turn(state, state.failure);
    const isDone = currentStep(state) < 0;
    // A cancel, or a deadline that passed, while the last act ran still holds: the saga turns back.
    const turns = (state.cancel ?? state.expired) !== undefined && canTurn(state) && !isResolved;
    return isDone && !turns ? moved(state, "complete") : state;
  }
  return state.status === "COMPENSATING" ? settleBack(state, "fail") : state;
}

/** A step with a list is done when all of its items are. */
export function closeList(state: SagaState, name: string): SagaState {
  const { act, items } = state.steps[indexOf(state, name)] as StepState;
  if (act !== "listed" || !items || items.closed < items.list.length) return state;
  return patch(state, stepOf(name), (step) => ({ ...step, act: actMachine.move(step.act, "succeed") }));
}

/** A saga that goes back ends once nothing is left to undo. */
function settleBack(state: SagaState, end: "complete" | "fail"): SagaState {
  const running = runningPlace(state);
  if (running) {
    const { runningSinceMs } = stateAt(state, running.index, running.item);
    const step = nameAt(state, running.index, running.item);
    return stalled(state, { kind: "running", step, sinceMs: runningSinceMs });
  }
  if (undoDue(state)) return state;
  const failed = unfinished(state);
  if (!failed) return moved(state, end);
  const { undoFailure } = stateAt(state, failed.index, failed.item);
  const step = nameAt(state, failed.index, failed.item);
  return stalled(state, { kind: "undo-failed", label: undoFailure?.label, step });
}

/** The undo that keeps the saga from its end. Where a person has ended it, only what follows the end counts. */
function unfinished(state: SagaState): Place | undefined {
  if (state.resolved === undefined) return failedUndo(state);
  const index = endOfUndoing(state);
  return state.steps[index]?.undo === "failed" ? { index, item: undefined } : undefined;
}

function stalled(state: SagaState, stall: ControlDetails): SagaState {
  return { ...moved(state, "stall"), stall };
}

/**
 * What a stalled saga waited for has happened, without a person: the last call that still ran has returned, or the step
 * that it could not do without has succeeded after all.
 */
export function unstall(state: SagaState): SagaState {
  const { stall } = state;
  const forward = (): SagaState => settle({ ...moved(state, "begin"), stall: undefined, failure: undefined });
  if (stall?.kind === "running" && !runningPlace(state))
    return canTurn(state) ? settle({ ...moved(state, "turn"), stall: undefined }) : forward();
  if (stall?.kind !== "forward-only" || !goesOn(state, stall.step as string)) return state;
  // Another act of its group or list has failed as well, and is what a person has to look at now.
  const other = failedAct(state);
  return other
    ? { ...state, stall: { kind: "forward-only", step: nameAt(state, other.index, other.item) } }
    : forward();
}

/** The first act that failed for good, and whose place no fallback has. */
function failedAct(state: SagaState): Place | undefined {
  const hasFailed = ({ act }: StepState): boolean => act === "broken" || act === "refused";
  for (const [index, step] of state.steps.entries()) {
    if (hasFailed(step) && !isPassedOver(state, index)) return { index, item: undefined };
    const [item] = step.items ? openItems(step.items, hasFailed, 1) : [];
    if (item !== undefined) return { index, item };
  }
  return undefined;
}

/** The step, or item, that had failed is done after all, or goes on by itself. */
function goesOn(state: SagaState, name: string): boolean {
  const { act } = stateAt(state, indexOf(state, name), partOf(name).number);
  return act === "done" || act === "listed" || act === "waiting";
}

/** A person lets a stalled saga go on with new tries, and with `skipped` without that step's outstanding work. */
export function resume(given: SagaState, skipped: ControlDetails | undefined): SagaState {
  const state = skipped ? closeList(skip(given, skipped), skipped.step as string) : given;
  // Going forward again, the failed act is tried anew; going back, how it failed still decides whether it is undone.
  const isForward = !canTurn(state) && !state.isReversal;
  const steps = state.steps.map((step, index) => {
    const open = reopened(step, isForward && !isPassedOver(state, index));
    return step.items ? { ...open, items: mapItems(step.items, (item) => reopened(item, isForward)) } : open;
  });
  const open = { ...state, steps, stall: undefined };
  const goesBack = state.resolved === "FAILED" || (state.failure !== undefined && canTurn(state));
  if (goesBack) return settle(moved(open, "turn"));
  return settle({ ...moved(open, "begin"), failure: undefined });
}

function skip(state: SagaState, { step: name, result }: ControlDetails): SagaState {
  const isUndo =
    state.isReversal || state.resolved === "FAILED" || (state.failure !== undefined && canTurn(state));
  return patch(state, name as string, (step) => (isUndo ? skippedUndo(step) : skippedAct(step, result)));
}

/** A person ends the saga. What follows such an end is still done, unless the person ends it because of that. */
export function resolve(state: SagaState, as: "COMPLETED" | "FAILED"): SagaState {
  const index =
    as === "FAILED" || state.isReversal
      ? endOfUndoing(state)
      : state.plan.findIndex(({ end }) => end === "completed");
  const hook = state.plan[index];
  const isOver = !hook || state.stall?.step === hook.name;
  if (isOver) return { ...moved(state, as === "COMPLETED" ? "complete" : "fail"), stall: undefined };
  // A call that did not return keeps the saga no longer: the person has decided.
  const steps = state.steps.map((step) => {
    const { items } = step;
    const decided = unheard(step);
    return items && items.running > 0 ? { ...decided, items: mapItems(items, unheard) } : decided;
  });
  const open = { ...state, steps, resolved: as, stall: undefined };
  if (state.status === "RUNNING") return as === "COMPLETED" ? settle(open) : settle(moved(open, "turn"));
  return settle(moved(open, as === "COMPLETED" ? "begin" : "turn"));
}
