/** The state of one step, as the log adds up: the states of its two machines, its counts, its result and its failures. */
import type { Direction } from "../../identity.ts";
import type { Failure, FailureKind } from "../entry.ts";
import type { PlannedStep } from "../plan.ts";
import { readAwaited, type Awaited } from "./child.ts";
import type { Items } from "./items.ts";
import { actMachine, undoMachine, type ActEvent, type ActState, type UndoState } from "./machine.ts";
import { pauseMs, readRound, repeatResult } from "./repeat.ts";
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
  /** Of a step with a list: its items, once they are recorded. Each has a state of its own. */
  readonly items?: Items | undefined;
  /** Of a step in rounds: the round that has begun last, and what the last round returned. */
  readonly round?: number | undefined;
  readonly last?: unknown;
  /** Of a step in rounds: since when it waits, database time; known only where the log was read. */
  readonly pausedAtMs?: number | undefined;
  /** Of a child saga: the saga whose end is waited for, the child itself or the one that takes it back. */
  readonly awaited?: Awaited | undefined;
  /** Of a child saga: how many children have failed. A person may let another one be started. */
  readonly failedChildren?: number | undefined;
  /** Its act keeps failing where the saga can only go forward, and needs a person: how it failed last. */
  readonly failing?: Failure | undefined;
  /** Why its fallback took its place. */
  readonly actFailure?: Failure | undefined;
  /** Why the undo failed. */
  readonly undoFailure?: Failure | undefined;
  /** When the act first began, database time; known only where the log was read. */
  readonly begunAtMs?: number | undefined;
  /** Of a step in a group, and of an item: when its next try is due, in the same time. The saga's row has one due time for all. */
  readonly dueAtMs?: number | undefined;
  /** A call of this step has outlived its time, and the worker that made it still waits for it: since when it runs. */
  readonly runningSinceMs?: number | undefined;
}

/** A type whose fields must all be given, those that may be undefined too. */
export type EachField<T> = { readonly [Field in keyof Required<T>]: T[Field] };

/** What the frequent changes of a step give anew. */
interface Change extends Pick<StepState, "act" | "undo" | "acts" | "undos" | "result" | "begunAtMs"> {}

/**
 * The same step after one of its frequent changes. It is written field by field, because a spread costs V8 some ten times as much,
 * and because all steps have one shape then. The type demands every field.
 */
function changed(step: Omit<StepState, keyof Change>, change: Change): StepState {
  const { act, undo, acts, undos, result, begunAtMs } = change;
  const { actFailures, undoFailures, received, items, round, last, pausedAtMs, awaited } = step;
  const { failedChildren, failing, actFailure, undoFailure, dueAtMs, runningSinceMs } = step;
  const copy: EachField<StepState> = {
    act,
    undo,
    acts,
    actFailures,
    undos,
    undoFailures,
    result,
    received,
    items,
    round,
    last,
    pausedAtMs,
    awaited,
    failedChildren,
    failing,
    actFailure,
    undoFailure,
    begunAtMs,
    dueAtMs,
    runningSinceMs,
  };
  return copy;
}

export const FRESH: StepState = changed(
  { actFailures: 0, undoFailures: 0 },
  {
    act: actMachine.initial,
    undo: undoMachine.initial,
    acts: 0,
    undos: 0,
    result: undefined,
    begunAtMs: undefined,
  },
);

/** A call of it begins, or its wait does. `number`: the round, of a step in rounds. */
export function begun(
  planned: PlannedStep,
  step: StepState,
  action: Direction,
  number: number | undefined,
  atMs: number | undefined,
): StepState {
  const { act, undo, acts, undos, result, begunAtMs } = step;
  if (action !== "act") {
    const begins = undoMachine.move(undo, "begin");
    return changed(step, { act, undo: begins, acts, undos: undos + 1, result, begunAtMs });
  }
  if (planned.repeat) return begunRound(step, number, atMs);
  const begins = actMachine.move(act, planned.wait ? "wait" : "begin");
  return changed(step, { act: begins, undo, acts: acts + 1, undos, result, begunAtMs: begunAtMs ?? atMs });
}

/** Without a number, it is the wait before the first round that begins. A new round has new tries. */
function begunRound(step: StepState, number: number | undefined, atMs: number | undefined): StepState {
  if (number === undefined) {
    const act = actMachine.move(step.act, "wait");
    return { ...step, act, round: 0, begunAtMs: step.begunAtMs ?? atMs, pausedAtMs: atMs };
  }
  const isNew = step.round !== number;
  return {
    ...step,
    act: actMachine.move(step.act, "begin"),
    round: number,
    acts: isNew ? 1 : step.acts + 1,
    actFailures: isNew ? 0 : step.actFailures,
    begunAtMs: step.begunAtMs ?? atMs,
  };
}

export function acted(
  planned: PlannedStep,
  given: StepState,
  details: string | null,
  number: number | undefined,
  atMs: number | undefined,
): StepState {
  const step = given.failing ? { ...given, failing: undefined } : given;
  if (planned.repeat && number !== undefined) return roundOver(planned, step, details, atMs);
  const act = actMachine.move(step.act, "succeed");
  if (planned.repeat) {
    const { number: received, value } = readReceived(details);
    return { ...step, act, received, result: repeatResult(step, received !== undefined, value) };
  }
  if (planned.wait || planned.child !== undefined) {
    const { number: received, value, which } = readReceived(details);
    const result = which === undefined ? value : { which, ...(value !== undefined && { value }) };
    return { ...step, act, result, received };
  }
  const { undo, acts, undos, begunAtMs } = step;
  const result = details === null ? undefined : (JSON.parse(details) as unknown);
  return changed(step, { act, undo, acts, undos, result, begunAtMs });
}

/** After a round the step is done, waits for its next round, or waits to fail. */
function roundOver(
  { repeat }: PlannedStep,
  given: StepState,
  details: string | null,
  atMs: number | undefined,
): StepState {
  const { done, value } = readRound(details);
  const step = { ...given, last: value };
  const isLast = repeat !== undefined && pauseMs(repeat, step.round ?? 0) === undefined && !repeat.failsAtMax;
  if (done || isLast)
    return { ...step, act: actMachine.move(step.act, "succeed"), result: repeatResult(step, done) };
  return { ...step, act: actMachine.move(step.act, "rest"), pausedAtMs: atMs };
}

/** The items of a step are recorded. */
export function listed(step: StepState): StepState {
  return { ...step, act: actMachine.move(step.act, "list"), ...recovered(step) };
}

/** A call that kept failing has succeeded, although its step goes on. */
function recovered({ failing }: StepState): Pick<StepState, "failing"> | undefined {
  return failing && { failing: undefined };
}

/** The child saga was started, or is being cancelled or reversed: its end is waited for. */
export function childAwaited(step: StepState, action: Direction, details: string | null): StepState {
  const awaited = readAwaited(details);
  return action === "act"
    ? { ...step, act: actMachine.move(step.act, "rest"), awaited, ...recovered(step) }
    : { ...step, undo: undoMachine.move(step.undo, "rest"), awaited };
}

export function undone(step: StepState, details: string | null): StepState {
  const undo = undoMachine.move(step.undo, "succeed");
  const { act, acts, undos, result, begunAtMs } = step;
  const done = changed(step, { act, undo, acts, undos, result, begunAtMs });
  return details === null ? done : { ...done, received: readReceived(details).number };
}

/** The act failed, and is tried again: in a group at an instant of its own. */
export function actFailed(
  { group, each }: PlannedStep,
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
    ...((group || each) && { dueAtMs: atMs === undefined ? undefined : atMs + (failure.waitMs ?? 0) }),
  };
}

/** The act failed, and is not tried again by itself. */
export function actEnded(step: StepState, failure: Failure): StepState {
  const act = actMachine.move(step.act, endEvent(failure.kind, step.acts));
  const ended = { ...step, ...stillRunning(step, failure), act };
  if (failure.number === undefined) return ended;
  return { ...ended, received: failure.number, failedChildren: (step.failedChildren ?? 0) + 1 };
}

/**
 * How a failure ends an act. One that was not called, because its circuit is open, has not happened, unless an earlier
 * try may have.
 */
function endEvent(kind: FailureKind, acts: number): ActEvent {
  if (kind === "open") return acts > 1 ? "break" : "withhold";
  return kind === "err" || kind === "child" ? "refuse" : "break";
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
  const step = unheard(given);
  if (step.undo === "begun") return { ...step, undo: undoMachine.move(step.undo, "interrupt") };
  return step.act === "begun" ? { ...step, act: actMachine.move(step.act, "interrupt") } : step;
}

/** Whether a call that had outlived its time still runs no longer matters. */
export function unheard(step: StepState): StepState {
  return step.runningSinceMs === undefined ? step : { ...step, runningSinceMs: undefined };
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
