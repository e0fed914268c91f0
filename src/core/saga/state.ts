/**
 * What a saga's log adds up to. `evolve` is the only place where a line of the log changes what the saga is, in
 * the worker that writes the line as much as in the one that reads it after a crash: the two cannot disagree.
 */
import { AmendsError } from "../errors.ts";
import type { ControlDetails, Entry, Failure, Mark } from "./entry.ts";
import { failedAs, isPassedOver, standing } from "./fallback.ts";
import { sagaMachine, type SagaStatus } from "./machine.ts";
import type { Plan, PlannedStep } from "./plan.ts";
import { canTurn, runningStep, undoDue } from "./undoing.ts";
import { readReceived } from "./wait.ts";

export interface StepState {
  /**
   * `begun` and `retry` are in doubt: the act may have happened. `broken` too, and it will not be tried again. A step
   * that only waits is `waiting` instead, whoever has the saga. A fallback is `chosen` where it is to act and has not.
   */
  readonly act: "none" | "chosen" | "begun" | "waiting" | "retry" | "done" | "refused" | "broken" | "skipped";
  readonly undo: "none" | "begun" | "retry" | "done" | "failed" | "skipped";
  /** How often the act was begun, and how often it failed since its budget was last given. */
  readonly acts: number;
  readonly actFailures: number;
  readonly undos: number;
  readonly undoFailures: number;
  readonly result: unknown;
  /** Of a wait: the number of what it received. */
  readonly received?: number | undefined;
  /** Why its fallback took its place. */
  readonly actFailure?: Failure | undefined;
  /** Why the undo failed. */
  readonly undoFailure?: Failure | undefined;
  /** When the act first began, database time; known only where the log was read. */
  readonly begunAtMs?: number | undefined;
  /** Of a step in a group: when its next try is due, in the same time. The saga's row has one due time for all. */
  readonly dueAtMs?: number | undefined;
  /** A call of this step has outlived its time, and the worker that made it still hears it: since when it runs. */
  readonly runningSinceMs?: number | undefined;
}

export interface SagaState {
  readonly plan: Plan;
  /** Where the pivot stands in the plan, or -1. */
  readonly pivot: number;
  readonly status: SagaStatus;
  readonly steps: readonly StepState[];
  /** Set once the saga has turned back, or will once the rest of a group has settled: which step failed, and how. */
  readonly failure?: (Failure & { readonly step: string | undefined }) | undefined;
  readonly cancel?: ControlDetails | undefined;
  /** A deadline passed while an act ran: the saga turns back, though the act may have succeeded. */
  readonly expired?: ControlDetails | undefined;
  readonly stall?: ControlDetails | undefined;
}

const FRESH: StepState = {
  act: "none",
  undo: "none",
  acts: 0,
  actFailures: 0,
  undos: 0,
  undoFailures: 0,
  result: undefined,
  undoFailure: undefined,
  begunAtMs: undefined,
};

/** A saga that was only recorded; with `begun`, one whose first act has begun together with it. */
export function initial(plan: Plan, begun: boolean, atMs?: number): SagaState {
  const state: SagaState = {
    plan,
    pivot: plan.findIndex((step) => step.pivot),
    status: begun ? "RUNNING" : "PENDING",
    steps: plan.map(() => FRESH),
    failure: undefined,
    cancel: undefined,
    expired: undefined,
    stall: undefined,
  };
  return begun ? start(state, { step: (plan[0] as PlannedStep).name, action: "act" }, atMs) : state;
}

export function evolve(before: SagaState, entry: Entry): SagaState {
  const after = entry.step.startsWith("$") ? evolveControl(before, entry) : evolveStep(before, entry);
  if (after.status !== before.status && !sagaMachine.arrow(before.status, after.status)) {
    throw new Error(`no arrow from ${before.status} to ${after.status} for ${entry.step} ${entry.status}`);
  }
  return entry.next ? startAfter(before, after, entry.next, entry.atMs) : after;
}

/** The same state with this call begun. */
export function start(state: SagaState, mark: Mark, atMs?: number): SagaState {
  return patch(state, mark.step, (step, planned) => asBegun(planned, step, mark, atMs));
}

/** The same, for a state that was made from another one just now: where its steps are its own, they are not copied again. */
export function startAfter(before: SagaState, after: SagaState, mark: Mark, atMs?: number): SagaState {
  if (after.steps === before.steps) return start(after, mark, atMs);
  const index = indexOf(after, mark.step);
  const begun = asBegun(after.plan[index] as PlannedStep, after.steps[index] as StepState, mark, atMs);
  (after.steps as StepState[])[index] = begun;
  return after;
}

function asBegun(
  { wait }: PlannedStep,
  step: StepState,
  { action }: Mark,
  atMs: number | undefined,
): StepState {
  if (action !== "act") return { ...step, undo: "begun", undos: step.undos + 1 };
  const act = wait ? "waiting" : "begun";
  return { ...step, act, acts: step.acts + 1, begunAtMs: step.begunAtMs ?? atMs };
}

function evolveStep(state: SagaState, entry: Entry): SagaState {
  if (entry.status === "STARTED") return start(state, entry, entry.atMs);
  if (entry.action === "act") {
    if (entry.status === "COMPLETED") {
      const done = patch(state, entry.step, (step, planned) => ({
        ...step,
        ...doneWith(planned, entry.details),
      }));
      return state.status === "STALLED" ? unstall(done) : settle(done);
    }
    const failure = JSON.parse(entry.details as string) as Failure;
    if (failure.kind === "retry") {
      const waits = patch(state, entry.step, (step, planned) => ({
        ...step,
        ...stillRunning(step, failure),
        act: "retry",
        actFailures: step.actFailures + 1,
        ...(planned.group && { dueAtMs: dueAt(entry, failure) }),
      }));
      return state.failure ? settle(waits) : waits;
    }
    if (failure.instead !== undefined) return passOver(state, entry.step, failure);
    const failed = patch(state, entry.step, (step) => ({
      ...step,
      ...stillRunning(step, failure),
      act: failedAs(failure.kind, step.acts),
    }));
    return turn(failed, { ...failure, step: entry.step });
  }
  if (entry.status === "COMPLETED") {
    const undone = patch(state, entry.step, (step) => ({ ...step, undo: "done" }));
    return state.status === "STALLED" ? unstall(undone) : settle(undone);
  }
  const failure = JSON.parse(entry.details as string) as Failure;
  const failed = patch(state, entry.step, (step) => ({
    ...step,
    ...stillRunning(step, failure),
    undo: failure.kind === "retry" ? "retry" : "failed",
    undoFailures: step.undoFailures + 1,
    undoFailure: failure,
  }));
  if (state.status !== "RUNNING" || failure.kind === "retry") return settle(failed);
  // What it may have done stands in its fallback's way, and cannot be taken back: the saga turns back after all.
  const { actFailure } = state.steps[indexOf(state, entry.step)] as StepState;
  return turn(failed, { ...(actFailure ?? failure), step: entry.step });
}

/** The saga does not turn back: another step has the place of the one that failed. */
function passOver(state: SagaState, name: string, { instead, ...failure }: Failure): SagaState {
  if (state.plan[indexOf(state, name)]?.fallback !== instead)
    throw new AmendsError("BAD_DEFINITION", `The log names a fallback that step ${name} does not have.`);
  const failed = patch(state, name, (step) => ({
    ...step,
    ...stillRunning(step, failure),
    act: failedAs(failure.kind, step.acts),
    actFailure: failure,
  }));
  return patch(failed, instead as string, (step) => ({ ...step, act: "chosen" }));
}

function dueAt({ atMs }: Entry, { waitMs = 0 }: Failure): number | undefined {
  return atMs === undefined ? undefined : atMs + waitMs;
}

function doneWith({ wait }: PlannedStep, details: string | null): Partial<StepState> {
  if (wait) {
    const { number, value } = readReceived(details);
    return { act: "done", result: value, received: number };
  }
  return { act: "done", result: details === null ? undefined : (JSON.parse(details) as unknown) };
}

function evolveControl(state: SagaState, entry: Entry): SagaState {
  const details = JSON.parse(entry.details ?? "{}") as ControlDetails;
  switch (entry.step) {
    case "$claim":
      return state.status === "PENDING" ? { ...state, status: "RUNNING" } : interrupted(state);
    case "$release":
      return interrupted(state);
    case "$cancel":
      // Nothing has begun: there is nothing to undo, and nobody needs to be asked.
      return state.status === "PENDING"
        ? { ...state, status: "FAILED", cancel: details, failure: cancelled() }
        : { ...state, cancel: details };
    case "$expire":
      return { ...state, expired: details };
    case "$return":
      return returned(state, details.step as string);
    case "$turn":
      return turn(
        { ...uncalled(state), stall: undefined },
        details.kind === "deadline"
          ? { kind: "deadline", label: "DeadlinePassed", step: details.step }
          : cancelled(details.step),
      );
    case "$stall":
      return { ...state, status: "STALLED", stall: details };
    case "$retry":
      return resume(state);
    case "$skip":
      return resume(skip(state, details));
    case "$resolve":
      return { ...state, status: details.as ?? "FAILED", stall: undefined };
    default:
      return state;
  }
}

/**
 * The worker that had begun a call no longer has the saga: the call is in doubt, and the next try is a new one. Nobody
 * hears any longer whether a call that had outlived its time still runs.
 */
function interrupted(state: SagaState): SagaState {
  const isOut = (step: StepState): boolean =>
    step.act === "begun" || step.undo === "begun" || step.runningSinceMs !== undefined;
  if (!state.steps.some(isOut)) return state;
  const steps = state.steps.map((given): StepState => {
    const step = given.runningSinceMs === undefined ? given : { ...given, runningSinceMs: undefined };
    if (step.undo === "begun") return { ...step, undo: "retry" };
    return step.act === "begun" ? { ...step, act: "retry" } : step;
  });
  return { ...state, steps };
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

/** All calls of this step that had outlived their time have returned. */
function returned(state: SagaState, name: string): SagaState {
  const settled = patch(state, name, (step) => ({ ...step, runningSinceMs: undefined }));
  return state.status === "STALLED" ? unstall(settled) : settled;
}

/**
 * What a stalled saga waited for has happened, without a person: the last call that still ran has returned, or the step
 * that it could not do without has succeeded after all.
 */
function unstall(state: SagaState): SagaState {
  const { stall } = state;
  const forward: SagaState = { ...state, stall: undefined, failure: undefined, status: "RUNNING" };
  if (stall?.kind === "running" && runningStep(state) < 0)
    return settle(canTurn(state) ? { ...state, stall: undefined, status: "COMPENSATING" } : forward);
  const isDone =
    stall?.kind === "forward-only" && state.steps[indexOf(state, stall.step as string)]?.act === "done";
  return isDone ? settle(forward) : state;
}

/**
 * A saga turns back by a line of its own only when none of its acts is being called. What has begun in a group by then
 * was never called: had somebody else called it, a claim would stand in between.
 */
function uncalled(state: SagaState): SagaState {
  if (!isActing(state)) return state;
  const steps = state.steps.map((step, index): StepState => {
    if (step.act !== "begun" || !state.plan[index]?.group) return step;
    return { ...step, act: step.acts > 1 ? "retry" : "none", acts: step.acts - 1 };
  });
  return { ...state, steps };
}

/** Some act of a group has begun, and nobody knows yet how it ended. */
export function isActing({ steps, plan }: SagaState): boolean {
  return steps.some((step, index) => step.act === "begun" && plan[index]?.group !== undefined);
}

function cancelled(step?: string): NonNullable<SagaState["failure"]> {
  return { kind: "cancelled", label: "Cancelled", step };
}

/**
 * The saga goes back, unless it has passed the point after which it cannot. Where others of a group still act, they are
 * waited for first, and the failure that came first stays the reason.
 */
function turn(state: SagaState, failure: NonNullable<SagaState["failure"]>): SagaState {
  const turned: SagaState = { ...state, failure: state.failure ?? failure };
  if (isActing(turned)) return turned;
  if (!canTurn(turned)) {
    return {
      ...turned,
      status: "STALLED",
      stall: { kind: "forward-only", label: turned.failure?.label, step: turned.failure?.step },
    };
  }
  return settle({ ...turned, status: "COMPENSATING" });
}

/** Nothing is undone, and no failure is reported, while a call is known to run. */
function stallRunning(state: SagaState, index: number): SagaState {
  const { runningSinceMs } = state.steps[index] as StepState;
  const stall = { kind: "running", step: state.plan[index]?.name, sinceMs: runningSinceMs };
  return { ...state, status: "STALLED", stall };
}

/** Ends the saga where nothing is left to do. */
function settle(state: SagaState): SagaState {
  if (state.status === "RUNNING") {
    if (state.failure !== undefined) return turn(state, state.failure);
    const done = standing(state) < 0;
    // A cancel, or a deadline that passed, while the last act ran still holds: the saga turns back.
    const turns = (state.cancel ?? state.expired) !== undefined && canTurn(state);
    return done && !turns ? { ...state, status: "COMPLETED" } : state;
  }
  if (state.status !== "COMPENSATING") return state;
  const running = runningStep(state);
  if (running >= 0) return stallRunning(state, running);
  if (undoDue(state) >= 0) return state;
  const failed = state.steps.findIndex((step) => step.undo === "failed");
  if (failed < 0) return { ...state, status: "FAILED" };
  const step = (state.plan[failed] as PlannedStep).name;
  const label = state.steps[failed]?.undoFailure?.label;
  return { ...state, status: "STALLED", stall: { kind: "undo-failed", label, step } };
}

/** A person lets a stalled saga go on: whatever had used up its tries gets new ones. */
function resume(state: SagaState): SagaState {
  const steps = state.steps.map((step, index): StepState => ({
    ...step,
    act: step.act === "broken" || step.act === "refused" ? retried(state, index) : step.act,
    undo: step.undo === "failed" ? "retry" : step.undo,
    actFailures: 0,
    undoFailures: 0,
    // A person has decided: the call that did not return counts as in doubt.
    ...(step.runningSinceMs !== undefined && { runningSinceMs: undefined }),
    ...(step.dueAtMs !== undefined && { dueAtMs: undefined }),
  }));
  const backward = state.failure !== undefined && canTurn(state);
  const going: SagaState = {
    ...state,
    steps,
    stall: undefined,
    status: backward ? "COMPENSATING" : "RUNNING",
  };
  return settle(backward ? going : { ...going, failure: undefined });
}

/** Going forward again, the failed act is tried anew; going back, how it failed still decides whether it is undone. */
function retried(state: SagaState, index: number): StepState["act"] {
  const { act } = state.steps[index] as StepState;
  return canTurn(state) || isPassedOver(state, index) ? act : "retry";
}

/** A person did this step's outstanding work by hand. */
function skip(state: SagaState, { step: name, result }: ControlDetails): SagaState {
  const isUndo = state.failure !== undefined && canTurn(state);
  return patch(state, name as string, (step) =>
    isUndo ? { ...step, undo: "skipped" } : { ...step, act: "skipped", result },
  );
}

function patch(
  state: SagaState,
  name: string,
  change: (step: StepState, planned: PlannedStep) => StepState,
): SagaState {
  const index = indexOf(state, name);
  const steps = state.steps.slice();
  steps[index] = change(steps[index] as StepState, state.plan[index] as PlannedStep);
  return { ...state, steps };
}

function indexOf({ plan }: SagaState, name: string): number {
  for (let index = 0; index < plan.length; index++) if (plan[index]?.name === name) return index;
  throw new AmendsError("BAD_DEFINITION", `The log names a step that the saga does not have: ${name}.`);
}
