/** The state of one step, as the log adds up: the states of its two machines, its counts, its result and its failures. */
import type { Direction } from "../identity.ts";
import type { Failure, FailureKind } from "./entry.ts";
import type { PlannedStep } from "./plan.ts";
import { actMachine, undoMachine, type ActEvent, type ActState, type UndoState } from "./step-machine.ts";
import { readReceived } from "./wait.ts";

export interface StepState {
  readonly act: ActState;
  readonly undo: UndoState;
  /** How often the act was begun, and how often it failed since its budget was last given. */
  readonly acts: number;
  readonly actFailures: number;
  readonly undos: number;
  readonly undoFailures: number;
  readonly result: unknown;
  /** Of a wait: the number of the signal that it received. */
  readonly received?: number | undefined;
  /** Its act keeps failing where the saga can only go forward, and needs a person: how it failed last. */
  readonly failing?: Failure | undefined;
  /** Why its fallback took its place. */
  readonly actFailure?: Failure | undefined;
  /** Why the undo failed. */
  readonly undoFailure?: Failure | undefined;
  /** When the act first began, database time; known only where the log was read. */
  readonly begunAtMs?: number | undefined;
  /** Of a step in a group: when its next try is due, in the same time. The saga's row has one due time for all. */
  readonly dueAtMs?: number | undefined;
  /** A call of this step has outlived its time, and the worker that made it still waits for it: since when it runs. */
  readonly runningSinceMs?: number | undefined;
}

export const FRESH: StepState = {
  act: actMachine.initial,
  undo: undoMachine.initial,
  acts: 0,
  actFailures: 0,
  undos: 0,
  undoFailures: 0,
  result: undefined,
  undoFailure: undefined,
  begunAtMs: undefined,
};

/** A call of it begins, or its wait does. */
export function begun(
  { wait }: PlannedStep,
  step: StepState,
  action: Direction,
  atMs: number | undefined,
): StepState {
  if (action !== "act") return { ...step, undo: undoMachine.move(step.undo, "begin"), undos: step.undos + 1 };
  const act = actMachine.move(step.act, wait ? "wait" : "begin");
  return { ...step, act, acts: step.acts + 1, begunAtMs: step.begunAtMs ?? atMs };
}

export function acted({ wait }: PlannedStep, given: StepState, details: string | null): StepState {
  const step = given.failing ? { ...given, failing: undefined } : given;
  const act = actMachine.move(step.act, "succeed");
  if (wait) {
    const { number, value } = readReceived(details);
    return { ...step, act, result: value, received: number };
  }
  return { ...step, act, result: details === null ? undefined : (JSON.parse(details) as unknown) };
}

export function undone(step: StepState): StepState {
  return { ...step, undo: undoMachine.move(step.undo, "succeed") };
}

/** The act failed, and is tried again: in a group at an instant of its own. */
export function actFailed(
  { group }: PlannedStep,
  step: StepState,
  failure: Failure,
  atMs: number | undefined,
): StepState {
  return {
    ...step,
    ...stillRunning(step, failure),
    act: actMachine.move(step.act, "fail"),
    actFailures: step.actFailures + 1,
    ...(failure.needsPerson === true && { failing: failure }),
    ...(group && { dueAtMs: atMs === undefined ? undefined : atMs + (failure.waitMs ?? 0) }),
  };
}

/** The act failed, and is not tried again by itself. */
export function actEnded(step: StepState, failure: Failure): StepState {
  const act = actMachine.move(step.act, endEvent(failure.kind, step.acts));
  return { ...step, ...stillRunning(step, failure), act };
}

/**
 * How a failure ends an act. One that was not called, because its circuit is open, has not happened, unless an earlier
 * try may have.
 */
function endEvent(kind: FailureKind, acts: number): ActEvent {
  if (kind === "open") return acts > 1 ? "break" : "withhold";
  return kind === "err" ? "refuse" : "break";
}

/** What an act is after such a failure. */
export function failedAs(kind: FailureKind, acts: number): ActState {
  return actMachine.move("begun", endEvent(kind, acts));
}

export function undoFailed(step: StepState, failure: Failure): StepState {
  return {
    ...step,
    ...stillRunning(step, failure),
    undo: undoMachine.move(step.undo, failure.kind === "retry" ? "fail" : "giveUp"),
    undoFailures: step.undoFailures + 1,
    undoFailure: failure,
  };
}

/** A call that did not return runs since the first of its tries that did not. */
function stillRunning(
  { runningSinceMs }: StepState,
  failure: Failure,
): Pick<StepState, "runningSinceMs"> | undefined {
  return failure.runningSinceMs === undefined
    ? undefined
    : { runningSinceMs: runningSinceMs ?? failure.runningSinceMs };
}

/** The worker that had begun a call no longer has the saga: the call is in doubt, and no worker knows whether it runs. */
export function interrupted(given: StepState): StepState {
  const step = given.runningSinceMs === undefined ? given : { ...given, runningSinceMs: undefined };
  if (step.undo === "begun") return { ...step, undo: undoMachine.move(step.undo, "interrupt") };
  return step.act === "begun" ? { ...step, act: actMachine.move(step.act, "interrupt") } : step;
}

/** The try that had begun in the log was never called; those before it are in doubt. */
export function uncalled(step: StepState): StepState {
  const act = actMachine.move(step.act, step.acts > 1 ? "interrupt" : "withhold");
  return { ...step, act, acts: step.acts - 1 };
}

/** A person lets the saga go on: new tries for its undo, and for its act if the saga goes forward. */
export function reopened(step: StepState, actsAgain: boolean): StepState {
  const isOver = step.act === "broken" || step.act === "refused";
  return {
    ...step,
    act: actsAgain && isOver ? actMachine.move(step.act, "reopen") : step.act,
    undo: step.undo === "failed" ? undoMachine.move(step.undo, "reopen") : step.undo,
    actFailures: 0,
    undoFailures: 0,
    ...(step.failing && { failing: undefined }),
    // The person has decided: a call that did not return counts as in doubt.
    ...(step.runningSinceMs !== undefined && { runningSinceMs: undefined }),
    ...(step.dueAtMs !== undefined && { dueAtMs: undefined }),
  };
}

export function skippedAct(step: StepState, result: unknown): StepState {
  return {
    ...step,
    act: actMachine.move(step.act, "skip"),
    result,
    ...(step.failing && { failing: undefined }),
  };
}

export function skippedUndo(step: StepState): StepState {
  return { ...step, undo: undoMachine.move(step.undo, "skip") };
}
