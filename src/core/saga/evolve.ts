/**
 * Applies a line of the log to the state of a saga. The worker that writes a line and the worker that reads it after a crash
 * both use `evolve`, so they cannot disagree. It moves the saga by the arrows of machine.ts and its steps by those of
 * steps/machine.ts, and by nothing else.
 */
import { AmendsError } from "../errors.ts";
import type { ControlDetails, Entry, Failure } from "./entry.ts";
import { RECORDED, sagaMachine } from "./machine.ts";
import {
  indexOf,
  isActing,
  isActingAt,
  moved,
  nameAt,
  patch,
  start,
  startNext,
  type SagaState,
  type StepState,
} from "./state.ts";
import { isPart, stepOf } from "./part-name.ts";
import type { PlannedStep } from "./plan.ts";
import { readListing } from "./steps/each.ts";
import { mapItems, NO_ITEMS, withListed } from "./steps/items.ts";
import { actMachine } from "./steps/machine.ts";
import {
  acted,
  actEnded,
  actFailed as failedTry,
  childAwaited,
  interrupted as interruptedStep,
  listed as listedStep,
  skippedAct,
  uncalled as uncalledStep,
  undoFailed as failedUndo,
  undone,
} from "./steps/state.ts";
import { cancelled, closeList, resolve, resume, settle, turn, unstall } from "./turning.ts";

/** One line is at most one arrow of the saga's machine: the row moves along it. */
export function evolve(before: SagaState, entry: Entry): SagaState {
  const after = entry.step.startsWith("$") ? evolveControl(before, entry) : evolveStep(before, entry);
  if (after.status !== before.status && !sagaMachine.arrow(before.status, after.status)) {
    throw new Error(`no arrow from ${before.status} to ${after.status} for ${entry.step} ${entry.status}`);
  }
  return entry.next ? startNext(after, before, entry.next, entry.atMs) : after;
}

function evolveStep(state: SagaState, entry: Entry): SagaState {
  if (entry.status === "STARTED")
    return entry.details === null ? start(state, entry, entry.atMs) : goOn(state, entry);
  const isAct = entry.action === "act";
  if (entry.status === "COMPLETED") {
    const { details, atMs } = entry;
    const done = patch(state, entry.step, (one, planned, number) =>
      isAct ? acted(planned, one, details, number, atMs) : undone(one, details),
    );
    return settled(isPart(entry.step) && isAct ? closeList(weighed(done, entry), entry.step) : done);
  }
  const failure = JSON.parse(entry.details as string) as Failure;
  return isAct ? actFailed(state, entry, failure) : undoFailed(state, entry.step, failure);
}

/** Of an item: how long the results of its list are by now. */
function weighed(state: SagaState, { step, details }: Entry): SagaState {
  const { items } = state.steps[indexOf(state, step)] as StepState;
  if (!items || details === null) return state;
  const resultBytes = items.resultBytes + details.length;
  return patch(state, stepOf(step), (one) => ({ ...one, items: { ...items, resultBytes } }));
}

/** Where the saga goes after a step has got on. */
function settled(state: SagaState): SagaState {
  return state.status === "STALLED" ? unstall(state) : settle(state);
}

/** A call that had begun is over, and its step is not: its items are recorded, or its child was started. */
function goOn(state: SagaState, entry: Entry): SagaState {
  const { step: name, action } = entry;
  const details = entry.details as string;
  const planned = state.plan[indexOf(state, name)] as PlannedStep;
  if (planned.each) return listed(state, name, details);
  const { undo } = state.steps[indexOf(state, name)] as StepState;
  // The child ended otherwise than its cancellation meant: its undo is called again.
  if (action === "compensate" && undo === "waiting")
    return patch(start(state, entry, entry.atMs), name, (one) => ({
      ...one,
      received: (JSON.parse(details) as { number: number }).number,
    }));
  return settled(patch(state, name, (one) => childAwaited(one, action, details)));
}

function listed(state: SagaState, name: string, details: string): SagaState {
  const { items, isLast } = readListing(details);
  const more = patch(state, name, (one) => ({
    ...(isLast ? listedStep(one) : one),
    items: withListed(one.items ?? NO_ITEMS, items),
  }));
  return isLast ? settled(closeList(more, name)) : more;
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
  if (state.status !== "RUNNING" || state.isReversal || failure.kind === "retry") return settle(failed);
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
      // Nothing has begun: there is nothing to undo, and no worker needs to be asked, unless something follows the end.
      const isOver = state.status === RECORDED && !state.plan.some(({ end }) => end === "failed");
      return isOver ? { ...moved(cancelling, "fail"), failure: cancelled() } : cancelling;
    }
    case "$expire":
      return { ...state, expired: details };
    case "$return": {
      const back = patch(state, details.step as string, (one) => ({ ...one, runningSinceMs: undefined }));
      return state.status === "STALLED" ? unstall(back) : back;
    }
    case "$turn":
      return turn(
        { ...uncalled(details.pivotDidNotHappen ? withoutPivot(state) : state), stall: undefined },
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
        : settle(
            closeList(
              patch(state, details.step as string, (one) => skippedAct(one, details.result)),
              details.step as string,
            ),
          );
    case "$resolve":
      return resolve(state, details.as === "COMPLETED" ? "COMPLETED" : "FAILED");
    case "$pause":
      return { ...state, paused: { reason: details.reason, by: details.by, atMs: entry.atMs } };
    case "$resume":
      return { ...state, paused: undefined };
    default:
      return state;
  }
}

/** A person knows that the pivot, which was in doubt, did not happen: the saga can turn back. */
function withoutPivot(state: SagaState): SagaState {
  const { pivot, plan } = state;
  const isOut = (index: number): boolean => state.steps[index]?.act === "broken";
  const places = plan[pivot]?.fallback === undefined ? [pivot] : [pivot, pivot + 1];
  return places.filter(isOut).reduce(
    (one, index) =>
      patch(one, nameAt(one, index, undefined), (step) => ({
        ...step,
        act: actMachine.move(step.act, "withhold"),
        runningSinceMs: undefined,
      })),
    state,
  );
}

/**
 * The worker that had begun a call no longer has the saga: the call is in doubt, and the next try is a new one. No worker
 * knows any longer whether a call that had outlived its time still runs.
 */
function interrupted(state: SagaState): SagaState {
  const isOut = ({ act, undo, runningSinceMs, items }: StepState): boolean =>
    act === "begun" || undo === "begun" || runningSinceMs !== undefined || items !== undefined;
  if (!state.steps.some(isOut)) return state;
  const steps = state.steps.map((step) => {
    const after = interruptedStep(step);
    return step.items ? { ...after, items: mapItems(step.items, interruptedStep) } : after;
  });
  return { ...state, steps };
}

/**
 * A saga turns back by a line of its own only when none of its acts is being called. What has begun in a group or of a list by then
 * was never called: if another worker had called it, a claim would stand in between.
 */
function uncalled(state: SagaState): SagaState {
  if (!isActing(state)) return state;
  const steps = state.steps.map((one, index) => {
    if (!isActingAt(state, index)) return one;
    if (!one.items) return uncalledStep(one);
    return {
      ...one,
      items: mapItems(one.items, (item) => (item.act === "begun" ? uncalledStep(item) : item)),
    };
  });
  return { ...state, steps };
}
