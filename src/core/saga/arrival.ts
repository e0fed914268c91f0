/** How waits end: by what arrives, or by time. */
import type { Entry, Failure } from "./entry.ts";
import { started } from "./entry.ts";
import type { WaitCommand } from "./interpreter.ts";
import { partName } from "./part-name.ts";
import type { PlannedStep } from "./plan.ts";
import type { SagaState, StepState } from "./state.ts";
import type { ChildEnd } from "./steps/child.ts";
import { firstOf, receivedDetails, type Arrival, type First } from "./steps/wait.ts";

/**
 * What ends a wait: the first of its names that no other wait has taken, or of several alternatives the one that came first.
 * `isOver` says whether a limit of the wait has passed. Undefined: nothing has come.
 */
export function endOf(
  state: SagaState,
  command: WaitCommand,
  arrivals: readonly Arrival[],
  isOver: (limitMs: number) => boolean,
): First | undefined {
  const { wait, name } = state.plan[command.index] as PlannedStep;
  const { begunAtMs } = state.steps[command.index] as StepState;
  const taken = new Set(state.steps.map((step) => step.received));
  const free = arrivals.filter((one) => command.names.includes(one.name) && !taken.has(one.number));
  if (wait?.any) return firstOf(name, wait.any, free, begunAtMs, isOver);
  const [arrival] = free;
  if (arrival) return { name: arrival.name, arrival };
  return command.limitMs !== undefined && isOver(command.limitMs)
    ? { name: command.step, arrival: undefined }
    : undefined;
}

/** The line that ends a wait with what arrived, as JSON. `which`: the alternative that came first. */
export function received({ step }: WaitCommand, number: number, value: string | null, which?: string): Entry {
  return { step, action: "act", status: "COMPLETED", details: receivedDetails(number, value, which) };
}

/**
 * The line that ends a wait whose time is over. A sleep is done; the next round begins, or the step goes on or fails after its
 * last one; anything else fails, unless it may be done without.
 */
export function timeOver(state: SagaState, { step, index }: WaitCommand, which: string): Entry {
  const { wait, repeat } = state.plan[index] as PlannedStep;
  if (wait?.any) return done(step, receivedDetails(undefined, null, which));
  if (!repeat) return wait?.kind === "sleep" || wait?.goesOn ? done(step, null) : failed(step, TOO_LATE);
  const { round = 0 } = state.steps[index] as StepState;
  if (round < repeat.max) return started(partName(step, round + 1));
  return repeat.failsAtMax ? failed(step, NOT_DONE) : done(step, null);
}

const TOO_LATE: Failure = { kind: "deadline", label: "DeadlinePassed" };
const NOT_DONE: Failure = { kind: "exhausted", label: "RoundsExhausted" };

function done(step: string, details: string | null): Entry {
  return { step, action: "act", status: "COMPLETED", details };
}

function failed(step: string, failure: Failure): Entry {
  return { step, action: "act", status: "FAILED", details: JSON.stringify(failure) };
}

/**
 * The line that ends the wait for a child saga, or for the saga that takes it back. A child that completed although it was to be
 * cancelled has to be taken back: its undo is called again.
 */
export function childEnded(
  state: SagaState,
  { step, index, action }: WaitCommand,
  number: number,
  end: ChildEnd,
  value: string | null,
): Entry {
  if (action === "act") {
    if (end.status === "COMPLETED") return done(step, receivedDetails(number, value));
    const { label = "ChildFailed", error, isErr } = end;
    const failure: Failure = { kind: isErr ? "err" : "child", label, ...(isErr && { error }), number };
    return failed(step, failure);
  }
  const { awaited } = state.steps[index] as StepState;
  const isUndone = end.status === "FAILED" || awaited?.isReversal === true;
  const status = isUndone ? "COMPLETED" : "STARTED";
  return { step, action, status, details: receivedDetails(number, null) };
}
