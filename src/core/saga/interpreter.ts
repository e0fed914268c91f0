/**
 * The interpreter of step sagas: what to do next, and what an outcome means. Pure: instants come in as facts,
 * durations go out, and the engine at the edge does the rest.
 */
import { delayMs, type RetryPolicy } from "../backoff.ts";
import type { Direction } from "../identity.ts";
import type { ControlDetails, Entry, Failure, FailureKind, Mark } from "./entry.ts";
import { control, started } from "./entry.ts";
import { membersFrom } from "./group.ts";
import type { PlannedStep } from "./plan.ts";
import { currentStep } from "./fallback.ts";
import { evolve } from "./evolve.ts";
import { start, startNext, type SagaState, type StepState } from "./state.ts";
import { failedAs } from "./step-state.ts";
import { canTurn, isUndoDue, mayHaveHappened, undoDue } from "./undoing.ts";
import { arrivesAs, receivedDetails, type Arrival, type Wait } from "./wait.ts";

export interface ActCommand {
  readonly kind: "act";
  readonly index: number;
  readonly step: string;
  readonly attempt: number;
}

export type Command =
  | ActCommand
  | { readonly kind: "undo"; readonly index: number; readonly step: string; readonly attempt: number }
  /** Nothing is called: the saga rests until its time has come. */
  | {
      readonly kind: "sleep";
      readonly index: number;
      readonly step: string;
      readonly limitMs: number | undefined;
    }
  /** The same, or until something arrives under this name. */
  | {
      readonly kind: "wait";
      readonly index: number;
      readonly step: string;
      readonly name: string;
      readonly limitMs: number | undefined;
    }
  /** All acts of a group that may be called now. Where there are none, those that are being called are waited for. */
  | GroupCommand
  | { readonly kind: "turn"; readonly why: TurnReason }
  | { readonly kind: "end" };

export interface GroupCommand {
  readonly kind: "group";
  readonly acts: readonly ActCommand[];
}

/** `failed`: a step of a group failed, and the worker that waited for the others was lost. */
export type TurnReason = "cancelled" | "deadline" | "failed";

/** A call of a step's own code. */
export type CallCommand = Extract<Command, { kind: "act" | "undo" }>;

export type WaitCommand = Extract<Command, { kind: "sleep" | "wait" }>;

export interface Facts {
  /** The saga's own deadline has passed, or that of a step between two tries. */
  readonly expired: boolean;
  /** The step whose deadline passed; undefined if it is the saga's own. */
  readonly late?: string | undefined;
  /** Of a group: the steps whose acts are being called, and those whose next try is not due yet. */
  readonly calling?: ReadonlySet<number> | undefined;
  readonly resting?: ReadonlySet<number> | undefined;
}

/** How a call ended, as the engine saw it. */
export type Outcome =
  | { readonly kind: "ok"; readonly details: string | null }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      readonly transient: boolean;
      /** The wait that the other side asked for: the next try comes no sooner. */
      readonly askedMs?: number | undefined;
      /** It is one of the failures that the step's fallback is for. */
      readonly qualifies?: boolean | undefined;
    };

export interface Decision {
  readonly entry: Entry;
  /** The same call again after this long; undefined where something else comes next. */
  readonly waitMs?: number | undefined;
}

export function next(state: SagaState, facts: Facts): Command {
  switch (state.status) {
    case "PENDING":
    case "RUNNING": {
      const why = turnReason(state, facts);
      // Nothing is undone while an act may still be running.
      if (why) return facts.calling?.size ? WAIT_FOR_THE_REST : { kind: "turn", why };
      const index = currentStep(state);
      const { name, wait, group } = state.plan[index] as PlannedStep;
      if (wait) return waitCommand(index, name, wait);
      if (group) return groupCommand(state, facts, index, group.limit);
      const { act } = state.steps[index] as StepState;
      // What the step before it may have done is taken back first: it will be neither done nor undone otherwise.
      if (act === "chosen" && isUndoDue(state, index - 1)) return undoCommand(state, index - 1);
      return actCommand(state, index);
    }
    case "COMPENSATING":
      return undoCommand(state, undoDue(state));
    default:
      return { kind: "end" };
  }
}

function turnReason(state: SagaState, facts: Facts): TurnReason | undefined {
  if (state.failure) return "failed";
  if (!canTurn(state) || pivotBegun(state)) return undefined;
  return state.cancel ? "cancelled" : facts.expired || state.expired ? "deadline" : undefined;
}

function actCommand(state: SagaState, index: number): ActCommand {
  const { act, acts } = state.steps[index] as StepState;
  // An act that has begun in this log line is attempt number `acts`; one that has not will be the next.
  return { kind: "act", index, step: nameOf(state, index), attempt: act === "begun" ? acts : acts + 1 };
}

const WAIT_FOR_THE_REST: GroupCommand = { kind: "group", acts: [] };

/** What has begun and is not being called yet, then, as far as there is room, what is due in the plan's order. */
function groupCommand(state: SagaState, facts: Facts, first: number, limit: number = Infinity): GroupCommand {
  const members = membersFrom(state.plan, first);
  const isIn = (index: number, ...acts: StepState["act"][]): boolean =>
    acts.includes((state.steps[index] as StepState).act);
  const begun = members.filter((index) => isIn(index, "begun"));
  const due = members.filter((index) => isIn(index, "none", "retry") && !facts.resting?.has(index));
  const called = begun.filter((index) => !facts.calling?.has(index));
  const acts = [...called, ...due.slice(0, Math.max(0, limit - begun.length))];
  return { kind: "group", acts: acts.map((index) => actCommand(state, index)) };
}

function undoCommand(state: SagaState, index: number): Command {
  const { undos, undo } = state.steps[index] as StepState;
  return { kind: "undo", index, step: nameOf(state, index), attempt: undo === "begun" ? undos : undos + 1 };
}

function waitCommand(index: number, step: string, wait: Wait): WaitCommand {
  const { limitMs } = wait;
  if (wait.kind === "sleep") return { kind: "sleep", index, step, limitMs };
  return { kind: "wait", index, step, name: arrivesAs(step, wait), limitMs };
}

function nameOf(state: SagaState, index: number): string {
  return (state.plan[index] as PlannedStep).name;
}

/** Once the pivot may be under way, cancelling and the saga's deadline come too late. */
export function pivotBegun(state: SagaState): boolean {
  const { pivot, plan, steps } = state;
  if (pivot < 0) return false;
  if ((steps[pivot] as StepState).act !== "none") return true;
  return plan[pivot]?.fallback !== undefined && (steps[pivot + 1] as StepState).act !== "none";
}

/**
 * The step that takes the place of one that failed like this, where one may. What may have happened must be taken back
 * first: where that cannot be done, because a saga never goes back that far, the step keeps its place.
 */
export function takesOver(state: SagaState, index: number, kind: FailureKind): string | undefined {
  const planned = state.plan[index] as PlannedStep;
  if (planned.fallback === undefined) return undefined;
  const { acts } = state.steps[index] as StepState;
  const isLost = !planned.undo && mayHaveHappened(planned, { act: failedAs(kind, acts), acts });
  return isLost && state.pivot >= 0 && index >= state.pivot ? undefined : planned.fallback;
}

/** The log's word for what a call does. */
export function actionOf({ kind }: CallCommand): Direction {
  return kind === "act" ? "act" : "compensate";
}

/** What the outcome of a call means: the line to write, and how long to wait where the call is tried again. */
export function decide(state: SagaState, command: Command, outcome: Outcome, retry: RetryPolicy): Decision {
  if (command.kind !== "act" && command.kind !== "undo") throw new Error(`${command.kind} has no outcome`);
  const action = actionOf(command);
  const line = (status: Entry["status"], details: string | null): Entry => ({
    step: command.step,
    action,
    status,
    details,
  });
  if (outcome.kind === "ok") return { entry: line("COMPLETED", outcome.details) };
  const before = state.steps[command.index] as StepState;
  const failures = (action === "act" ? before.actFailures : before.undoFailures) + 1;
  const kind = outcome.transient ? "exhausted" : outcome.failure.kind;
  const isRunning = (before.runningSinceMs ?? outcome.failure.runningSinceMs) !== undefined;
  // What may have happened is undone before a fallback acts, and nothing is undone while a call is known to run.
  const instead =
    action === "act" && outcome.qualifies === true && !isRunning
      ? takesOver(state, command.index, kind)
      : undefined;
  // After the pivot there is no way but forward: transient trouble is never given up on, unless to a fallback.
  const endless = action === "act" && instead === undefined && forwardOnly(state, command.index);
  // An act that gives up because the saga was cancelled has not used up its tries: it is in doubt, and undone.
  const stopped = action === "act" && state.cancel !== undefined;
  if (outcome.transient && (endless || stopped || failures < retry.attemptMax)) {
    const waitMs = Math.max(delayMs(retry, failures), outcome.askedMs ?? 0);
    const needsPerson = (endless && failures >= retry.attemptMax) || undefined;
    const failure: Failure = { ...outcome.failure, kind: "retry", waitMs, needsPerson };
    return { entry: line("FAILED", JSON.stringify(failure)), waitMs };
  }
  return { entry: line("FAILED", JSON.stringify({ ...outcome.failure, kind, instead })) };
}

/**
 * Calls of a step that had outlived their time have returned, `done` being the line of a success. A saga that waits for
 * them in its stall learns of the success first; any other one must not end with a call that is said to run.
 */
export function returnLines(
  state: SagaState,
  step: string,
  done: Entry | undefined,
  isLast: boolean,
): readonly Entry[] {
  const back = isLast ? [control("$return", { step })] : [];
  const success = done ? [done] : [];
  return state.status === "STALLED" ? [...success, ...back] : [...back, ...success];
}

/** Does a success of this call still matter, now that the saga has gone on without it? */
export function isAwaited(state: SagaState, { kind, index }: CallCommand): boolean {
  const { act, undo } = state.steps[index] as StepState;
  if (kind === "undo") return undo === "retry" || undo === "failed";
  return act === "retry" || (act === "broken" && state.status === "STALLED");
}

/** What a wait takes: the first of its name that no other wait has taken. */
export function arrivalFor(
  state: SagaState,
  command: WaitCommand,
  arrivals: readonly Arrival[],
): Arrival | undefined {
  if (command.kind === "sleep") return undefined;
  const taken = new Set(state.steps.map((step) => step.received));
  return arrivals.find(({ name, number }) => name === command.name && !taken.has(number));
}

/** The line that ends a wait with what arrived, as JSON. */
export function received({ step }: WaitCommand, number: number, value: string | null): Entry {
  return { step, action: "act", status: "COMPLETED", details: receivedDetails(number, value) };
}

/** The line that ends a wait whose time is over: a sleep is done; anything else fails, unless it may be done without. */
export function timeOver(state: SagaState, { step, index, kind }: WaitCommand): Entry {
  const goesOn = kind === "sleep" || state.plan[index]?.wait?.goesOn === true;
  if (goesOn) return { step, action: "act", status: "COMPLETED", details: null };
  const failure: Failure = { kind: "deadline", label: "DeadlinePassed" };
  return { step, action: "act", status: "FAILED", details: JSON.stringify(failure) };
}

function forwardOnly(state: SagaState, index: number): boolean {
  return state.pivot >= 0 && index > state.pivot && state.plan[index]?.pivot !== true;
}

/** The line that turns a saga back for another reason than a failed step. */
export function turnEntry(state: SagaState, why: TurnReason, late?: string): Entry {
  const step = state.failure?.step ?? late ?? state.expired?.step ?? state.plan[currentStep(state)]?.name;
  const details: ControlDetails = { ...state.cancel, kind: why, step };
  return control("$turn", details);
}

/** A line, what must be written together with it, and the state after all of it. */
export interface Advance {
  readonly entry: Entry;
  /** Lines that follow on it, in the same commit: they begin the other acts of a group. */
  readonly more: readonly Entry[] | undefined;
  readonly state: SagaState;
}

/**
 * A line and the state after it. With `go`, the call that follows begins in the same line, so that it needs no
 * line of its own: its STARTED is durable because this line is.
 */
export function advance(before: SagaState, entry: Entry, facts: Facts, go: boolean): Advance {
  const state = evolve(before, entry);
  const command = go ? next(state, facts) : undefined;
  if (command?.kind === "group") return beginTogether(state, entry, command);
  // What has begun already, such as an undo that the saga turned back over, is not begun again.
  const mark = command && needsStart(state, command) ? markOf(command) : undefined;
  return mark
    ? { entry: { ...entry, next: mark }, more: undefined, state: startNext(state, before, mark) }
    : { entry, more: undefined, state };
}

/** The first of a group begins in the line that came before it, the others in lines of their own beside it. */
function beginTogether(after: SagaState, entry: Entry, command: GroupCommand): Advance {
  const [first, ...rest] = command.acts.filter((act) => needsStart(after, act));
  const mark = first && markOf(first);
  if (!mark) return { entry, more: undefined, state: after };
  const more = rest.map(({ step }) => started(step));
  const state = more.reduce(evolve, start(after, mark));
  return { entry: { ...entry, next: mark }, more, state };
}

function markOf(command: Exclude<Command, GroupCommand>): Mark | undefined {
  if (command.kind === "end" || command.kind === "turn") return undefined;
  return { step: command.step, action: command.kind === "undo" ? "compensate" : "act" };
}

/** Must this command's STARTED still be written before its call may be made, or before it counts as waiting? */
export function needsStart(state: SagaState, command: Exclude<Command, GroupCommand>): boolean {
  if (command.kind === "act") return (state.steps[command.index] as StepState).act !== "begun";
  if (command.kind === "undo") return (state.steps[command.index] as StepState).undo !== "begun";
  if (command.kind === "end" || command.kind === "turn") return false;
  return (state.steps[command.index] as StepState).act !== "waiting";
}
