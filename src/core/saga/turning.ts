/**
 * Where a saga goes after its steps have changed: it ends, turns back, stalls, or goes on after a stall. What always holds:
 * it is FAILED only if nothing is left that may have happened and can be undone, and nothing is undone while a call is
 * known to run.
 */
import type { ControlDetails } from "./entry.ts";
import { isPassedOver, currentStep } from "./fallback.ts";
import { RECORDED } from "./machine.ts";
import type { PlannedStep } from "./plan.ts";
import { indexOf, isActing, moved, patch, type SagaState, type StepState } from "./state.ts";
import { reopened, skippedAct, skippedUndo } from "./step-state.ts";
import { canTurn, runningStep, undoDue } from "./undoing.ts";

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
  if (state.status === "RUNNING") {
    if (state.failure !== undefined) return turn(state, state.failure);
    const isDone = currentStep(state) < 0;
    // A cancel, or a deadline that passed, while the last act ran still holds: the saga turns back.
    const turns = (state.cancel ?? state.expired) !== undefined && canTurn(state);
    return isDone && !turns ? moved(state, "complete") : state;
  }
  if (state.status !== "COMPENSATING") return state;
  const running = runningStep(state);
  if (running >= 0) {
    const { runningSinceMs } = state.steps[running] as StepState;
    return stalled(state, { kind: "running", step: state.plan[running]?.name, sinceMs: runningSinceMs });
  }
  if (undoDue(state) >= 0) return state;
  const failed = state.steps.findIndex((step) => step.undo === "failed");
  if (failed < 0) return moved(state, "fail");
  const step = (state.plan[failed] as PlannedStep).name;
  return stalled(state, { kind: "undo-failed", label: state.steps[failed]?.undoFailure?.label, step });
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
  if (stall?.kind === "running" && runningStep(state) < 0)
    return canTurn(state) ? settle({ ...moved(state, "turn"), stall: undefined }) : forward();
  const isDone =
    stall?.kind === "forward-only" && state.steps[indexOf(state, stall.step as string)]?.act === "done";
  return isDone ? forward() : state;
}

/** A person lets a stalled saga go on with new tries, and with `skipped` without that step's outstanding work. */
export function resume(given: SagaState, skipped: ControlDetails | undefined): SagaState {
  const state = skipped ? skip(given, skipped) : given;
  // Going forward again, the failed act is tried anew; going back, how it failed still decides whether it is undone.
  const steps = state.steps.map((step, index) =>
    reopened(step, !canTurn(state) && !isPassedOver(state, index)),
  );
  const open = { ...state, steps, stall: undefined };
  if (state.failure !== undefined && canTurn(state)) return settle(moved(open, "turn"));
  return settle({ ...moved(open, "begin"), failure: undefined });
}

function skip(state: SagaState, { step: name, result }: ControlDetails): SagaState {
  const isUndo = state.failure !== undefined && canTurn(state);
  return patch(state, name as string, (step) => (isUndo ? skippedUndo(step) : skippedAct(step, result)));
}
