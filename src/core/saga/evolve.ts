/**
 * Applies a line of the log to the state of a saga. The worker that writes a line and the worker that reads it after a crash
 * both use `evolve`, so they cannot disagree. It moves the saga by the arrows of machine.ts and its steps by those of
 * step-machine.ts, and by nothing else.
 */
import { AmendsError } from "../errors.ts";
import type { ControlDetails, Entry, Failure } from "./entry.ts";
import { RECORDED, sagaMachine } from "./machine.ts";
import {
  indexOf,
  isActing,
  isActingAt,
  moved,
  patch,
  start,
  startNext,
  type SagaState,
  type StepState,
} from "./state.ts";
import { actMachine } from "./step-machine.ts";
import {
  acted,
  actEnded,
  actFailed as failedTry,
  interrupted as interruptedStep,
  skippedAct,
  uncalled as uncalledStep,
  undoFailed as failedUndo,
  undone,
} from "./step-state.ts";
import { cancelled, resume, settle, turn, unstall } from "./turning.ts";

/** One line is at most one arrow of the saga's machine: the row moves along it. */
export function evolve(before: SagaState, entry: Entry): SagaState {
  const after = entry.step.startsWith("$") ? evolveControl(before, entry) : evolveStep(before, entry);
  if (after.status !== before.status && !sagaMachine.arrow(before.status, after.status)) {
    throw new Error(`no arrow from ${before.status} to ${after.status} for ${entry.step} ${entry.status}`);
  }
  return entry.next ? startNext(after, before, entry.next, entry.atMs) : after;
}

function evolveStep(state: SagaState, entry: Entry): SagaState {
  if (entry.status === "STARTED") return start(state, entry, entry.atMs);
  const isAct = entry.action === "act";
  if (entry.status === "COMPLETED") {
    const done = patch(state, entry.step, (one, planned) =>
      isAct ? acted(planned, one, entry.details) : undone(one),
    );
    return state.status === "STALLED" ? unstall(done) : settle(done);
  }
  const failure = JSON.parse(entry.details as string) as Failure;
  return isAct ? actFailed(state, entry, failure) : undoFailed(state, entry.step, failure);
}

function actFailed(state: SagaState, { step: name, atMs }: Entry, failure: Failure): SagaState {
  if (failure.kind === "retry") {
    const waits = patch(state, name, (one, planned) => failedTry(planned, one, failure, atMs));
    return state.failure ? settle(waits) : waits;
  }
  if (failure.instead !== undefined) return passOver(state, name, failure);
  const failed = patch(state, name, (one) => actEnded(one, failure));
  return turn(failed, { ...failure, step: name });
}

/** The saga does not turn back: another step has the place of the one that failed. */
function passOver(state: SagaState, name: string, { instead, ...failure }: Failure): SagaState {
  if (state.plan[indexOf(state, name)]?.fallback !== instead)
    throw new AmendsError("BAD_DEFINITION", `The log names a fallback that step ${name} does not have.`);
  const failed = patch(state, name, (one) => ({ ...actEnded(one, failure), actFailure: failure }));
  return patch(failed, instead as string, (one) => ({ ...one, act: actMachine.move(one.act, "choose") }));
}

function undoFailed(state: SagaState, name: string, failure: Failure): SagaState {
  const failed = patch(state, name, (one) => failedUndo(one, failure));
  if (state.status !== "RUNNING" || failure.kind === "retry") return settle(failed);
  // What the step may have done stands in its fallback's way, and cannot be taken back: the saga turns back after all.
  const { actFailure } = state.steps[indexOf(state, name)] as StepState;
  return turn(failed, { ...(actFailure ?? failure), step: name });
}

function evolveControl(state: SagaState, entry: Entry): SagaState {
  const details = JSON.parse(entry.details ?? "{}") as ControlDetails;
  switch (entry.step) {
    case "$claim":
      return state.status === RECORDED ? moved(state, "begin") : interrupted(state);
    case "$release":
      return interrupted(state);
    case "$cancel": {
      const cancelling = { ...state, cancel: details };
      // Nothing has begun: there is nothing to undo, and no worker needs to be asked.
      return state.status === RECORDED ? { ...moved(cancelling, "fail"), failure: cancelled() } : cancelling;
    }
    case "$expire":
      return { ...state, expired: details };
    case "$return": {
      const back = patch(state, details.step as string, (one) => ({ ...one, runningSinceMs: undefined }));
      return state.status === "STALLED" ? unstall(back) : back;
    }
    case "$turn":
      return turn(
        { ...uncalled(state), stall: undefined },
        details.kind === "deadline"
          ? { kind: "deadline", label: "DeadlinePassed", step: details.step }
          : cancelled(details.step),
      );
    case "$stall":
      return { ...moved(state, "stall"), stall: details };
    case "$retry":
      return resume(state, undefined);
    case "$skip":
      // A step behind the pivot that keeps failing is skipped while the saga runs.
      return state.status === "STALLED"
        ? resume(state, details)
        : settle(patch(state, details.step as string, (one) => skippedAct(one, details.result)));
    case "$resolve":
      return { ...moved(state, details.as === "COMPLETED" ? "complete" : "fail"), stall: undefined };
    default:
      return state;
  }
}

/**
 * The worker that had begun a call no longer has the saga: the call is in doubt, and the next try is a new one. No worker
 * knows any longer whether a call that had outlived its time still runs.
 */
function interrupted(state: SagaState): SagaState {
  const isOut = (one: StepState): boolean =>
    one.act === "begun" || one.undo === "begun" || one.runningSinceMs !== undefined;
  return state.steps.some(isOut) ? { ...state, steps: state.steps.map(interruptedStep) } : state;
}

/**
 * A saga turns back by a line of its own only when none of its acts is being called. What has begun in a group by then
 * was never called: if another worker had called it, a claim would stand in between.
 */
function uncalled(state: SagaState): SagaState {
  if (!isActing(state)) return state;
  const steps = state.steps.map((one, index) => (isActingAt(state, index) ? uncalledStep(one) : one));
  return { ...state, steps };
}
