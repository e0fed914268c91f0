/**
 * The interpreter of step sagas: what to do next, and what an outcome means. Pure: instants come in as facts,
 * durations go out, and the engine at the edge does the rest.
 */
import { delayMs, type RetryPolicy } from "../backoff.ts";
import type { Direction } from "../identity.ts";
import { control, type ControlDetails, type Entry, type Failure, type FailureKind } from "./entry.ts";
import { partName } from "./part-name.ts";
import { currentStep } from "./path.ts";
import type { PlannedStep } from "./plan.ts";
import { nameAt, stateAt, type SagaState, type StepState } from "./state.ts";
import { endArrivesAs } from "./steps/child.ts";
import { LIST_BYTES_MAX } from "./steps/each.ts";
import { membersFrom } from "./steps/group.ts";
import { openItems, type Items } from "./steps/items.ts";
import { pauseMs } from "./steps/repeat.ts";
import { failedAs } from "./steps/state.ts";
import { arrivalNames, limitOf } from "./steps/wait.ts";
import { canTurn, mayHaveHappened, runningPlace, undoDue, undoDueAt, type Place } from "./undoing.ts";

export interface ActCommand {
  readonly kind: "act";
  readonly index: number;
  /** Of a step with a list: the item. */
  readonly item?: number | undefined;
  /** Of a step in rounds: the round. */
  readonly round?: number | undefined;
  /** The name in the log. */
  readonly step: string;
  readonly attempt: number;
}

export interface UndoCommand {
  readonly kind: "undo";
  readonly index: number;
  readonly item?: number | undefined;
  readonly step: string;
  readonly attempt: number;
}

/** Nothing is called: the saga rests until its time has come, or until something arrives under one of these names. */
export interface WaitCommand {
  readonly kind: "wait";
  readonly index: number;
  readonly step: string;
  /** Whether the act or the undo of the step waits. */
  readonly action: Direction;
  /** None: only time ends it. */
  readonly names: readonly string[];
  readonly limitMs: number | undefined;
}

export type Command =
  | ActCommand
  | UndoCommand
  | WaitCommand
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
export type CallCommand = ActCommand | UndoCommand;

export interface Facts {
  /** The saga's own deadline has passed, or that of a step between two tries. */
  readonly expired: boolean;
  /** The step whose deadline passed; undefined if it is the saga's own. */
  readonly late?: string | undefined;
  /** Of a group or a list: the names of what is being called, and whether the next try of a name is not due yet. */
  readonly calling?: ReadonlySet<string> | undefined;
  readonly isResting?: ((step: string) => boolean) | undefined;
}

/** How a call ended, as the engine saw it. */
export type Outcome =
  | {
      readonly kind: "ok";
      readonly details: string | null;
      /** The step goes on: its items are recorded by these details, or its child was started. */
      readonly goesOn?: readonly string[] | undefined;
    }
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
  /** Lines before it, in the same commit. */
  readonly before?: readonly Entry[] | undefined;
  /** The same call again after this long; undefined where something else comes next. */
  readonly waitMs?: number | undefined;
}

export function next(state: SagaState, facts: Facts): Command {
  switch (state.status) {
    case "PENDING":
    case "RUNNING": {
      if (state.isReversal) return backward(state);
      const why = turnReason(state, facts);
      // Nothing is undone while an act may still be running.
      if (why && state.resolved === undefined)
        return facts.calling?.size ? WAIT_FOR_THE_REST : { kind: "turn", why };
      return forward(state, facts, currentStep(state));
    }
    case "COMPENSATING":
      return backward(state);
    default:
      return END;
  }
}

const END: Command = { kind: "end" };

function forward(state: SagaState, facts: Facts, index: number): Command {
  const { name, wait, group, each, child } = state.plan[index] as PlannedStep;
  const { act, items } = state.steps[index] as StepState;
  if (wait) return waitCommand(index, name, arrivalNames(name, wait), limitOf(wait));
  if (group) return groupCommand(state, facts, index, group.limit);
  if (each && items && act === "listed") return listCommand(state, facts, index, items, each.limit);
  if (child !== undefined && act === "waiting") return awaitCommand(state, index, "act");
  const pause = pauseOf(state, index);
  if (pause) return pause;
  // What the step before it may have done is taken back first: it will be neither done nor undone otherwise.
  const before = act === "chosen" ? undoDueAt(state, index - 1) : undefined;
  // Nothing is undone beside a call that is known to run, also not one of an earlier step.
  if (before && runningPlace(state)) return WAIT_FOR_THE_REST;
  return before ? undoCommand(state, before) : actCommand(state, index);
}

/** What is undone next. The undo of a child saga waits until that has ended. */
function backward(state: SagaState): Command {
  const place = undoDue(state);
  if (!place) return END;
  const { undo } = stateAt(state, place.index, place.item);
  if (undo !== "waiting") return undoCommand(state, place);
  return awaitCommand(state, place.index, "compensate");
}

/** Waits for the end of a child saga, or of the one that takes it back. */
function awaitCommand(state: SagaState, index: number, action: Direction): WaitCommand {
  const { awaited } = state.steps[index] as StepState;
  return waitCommand(
    index,
    nameAt(state, index, undefined),
    [endArrivesAs(awaited?.saga ?? "")],
    undefined,
    action,
  );
}

/** The wait of a step in rounds: before its first round, between two rounds, or to fail after its last one. */
function pauseOf(state: SagaState, index: number): WaitCommand | undefined {
  const { name, repeat } = state.plan[index] as PlannedStep;
  const { act, round = 0 } = state.steps[index] as StepState;
  const isDelayed = act === "none" && repeat?.delayMs !== undefined;
  if (!repeat || (act !== "waiting" && !isDelayed)) return undefined;
  const names = repeat.until ? arrivalNames(name, repeat.until) : [];
  return waitCommand(index, name, names, pauseMs(repeat, round) ?? 0);
}

function turnReason(state: SagaState, facts: Facts): TurnReason | undefined {
  if (state.failure) return "failed";
  if (!canTurn(state) || pivotBegun(state)) return undefined;
  return state.cancel ? "cancelled" : facts.expired || state.expired ? "deadline" : undefined;
}

function actCommand(state: SagaState, index: number, item?: number): ActCommand {
  const { act, acts, round: begun = 0 } = stateAt(state, index, item);
  if (state.plan[index]?.repeat) return roundCommand(state, index, Math.max(1, begun));
  // An act that has begun in this log line is attempt number `acts`; one that has not will be the next.
  const attempt = act === "begun" ? acts : acts + 1;
  return { kind: "act", index, item, step: nameAt(state, index, item), attempt };
}

function roundCommand(state: SagaState, index: number, round: number): ActCommand {
  const { act, acts, round: begun } = state.steps[index] as StepState;
  const attempt = begun === round ? (act === "begun" ? acts : acts + 1) : 1;
  const step = partName((state.plan[index] as PlannedStep).name, round);
  return { kind: "act", index, round, step, attempt };
}

const WAIT_FOR_THE_REST: GroupCommand = { kind: "group", acts: [] };

/** What has begun and is not being called yet, then, as far as there is room, what is due in the plan's order. */
function groupCommand(state: SagaState, facts: Facts, first: number, limit: number = Infinity): GroupCommand {
  const members = membersFrom(state.plan, first);
  const isIn = (index: number, ...acts: StepState["act"][]): boolean =>
    acts.includes((state.steps[index] as StepState).act);
  const name = (index: number): string => (state.plan[index] as PlannedStep).name;
  const begun = members.filter((index) => isIn(index, "begun"));
  const due = members.filter((index) => isIn(index, "none", "retry") && !facts.isResting?.(name(index)));
  const called = begun.filter((index) => !facts.calling?.has(name(index)));
  const acts = [...called, ...due.slice(0, Math.max(0, limit - begun.length))];
  return { kind: "group", acts: acts.map((index) => actCommand(state, index)) };
}

/** The same for the items of a list. */
function listCommand(
  state: SagaState,
  facts: Facts,
  index: number,
  items: Items,
  limit: number,
): GroupCommand {
  const { name: step } = state.plan[index] as PlannedStep;
  const isCalled = (item: number): boolean => facts.calling?.has(partName(step, item)) === true;
  const isResting = (item: number): boolean => facts.isResting?.(partName(step, item)) === true;
  const begun = items.begun === 0 ? [] : openItems(items, ({ act }) => act === "begun", items.begun);
  const due = openItems(
    items,
    ({ act }, item) => act === "none" || (act === "retry" && !isResting(item)),
    Math.max(0, limit - begun.length),
  );
  const acts = [...begun.filter((item) => !isCalled(item)), ...due];
  return { kind: "group", acts: acts.map((item) => actCommand(state, index, item)) };
}

function undoCommand(state: SagaState, { index, item }: Place): UndoCommand {
  const { undos, undo } = stateAt(state, index, item);
  const attempt = undo === "begun" ? undos : undos + 1;
  return { kind: "undo", index, item, step: nameAt(state, index, item), attempt };
}

function waitCommand(
  index: number,
  step: string,
  names: readonly string[],
  limitMs: number | undefined,
  action: Direction = "act",
): WaitCommand {
  return { kind: "wait", index, step, action, names, limitMs };
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
  if (outcome.kind === "ok") {
    const { details, goesOn } = outcome;
    if (isTooMuch(state, command, details))
      return { entry: lineOf(command, "FAILED", JSON.stringify(TOO_MUCH)) };
    if (!goesOn) return { entry: lineOf(command, "COMPLETED", details) };
    const lines = goesOn.map((one) => lineOf(command, "STARTED", one));
    return { entry: lines.at(-1) as Entry, before: lines.slice(0, -1) };
  }
  const action = actionOf(command);
  const before = stateAt(state, command.index, command.item);
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
    return { entry: lineOf(command, "FAILED", JSON.stringify(failure)), waitMs };
  }
  return { entry: lineOf(command, "FAILED", JSON.stringify({ ...outcome.failure, kind, instead })) };
}

function lineOf(command: CallCommand, status: Entry["status"], details: string | null): Entry {
  return { step: command.step, action: actionOf(command), status, details };
}

const TOO_MUCH: Failure = { kind: "unfit", label: "ResultsTooLarge" };

/** The results of a list are stored as long as all of them together are not too long. */
function isTooMuch(state: SagaState, { index, item }: CallCommand, details: string | null): boolean {
  const { items } = state.steps[index] as StepState;
  if (item === undefined || !items) return false;
  return items.resultBytes + (details?.length ?? 0) > LIST_BYTES_MAX;
}

/**
 * Calls of a step that had outlived their time have returned, `success` being the lines of a success. A saga that waits for
 * them in its stall learns of the success first; any other one must not end with a call that is said to run.
 */
export function returnLines(
  state: SagaState,
  step: string,
  success: readonly Entry[],
  isLast: boolean,
): readonly Entry[] {
  const back = isLast ? [control("$return", { step })] : [];
  return state.status === "STALLED" ? [...success, ...back] : [...back, ...success];
}

/** Does a success of this call still matter, now that the saga has gone on without it? */
export function isAwaited(state: SagaState, command: CallCommand): boolean {
  const { act, undo, round } = stateAt(state, command.index, command.item);
  if (command.kind === "undo") return undo === "retry" || undo === "failed";
  if (command.round !== undefined && command.round !== round) return false;
  return act === "retry" || (act === "broken" && state.status === "STALLED");
}

function forwardOnly(state: SagaState, index: number): boolean {
  const { pivot, end } = state.plan[index] as PlannedStep;
  return state.pivot >= 0 && index > state.pivot && !pivot && end === undefined;
}

/** The line that turns a saga back for another reason than a failed step. */
export function turnEntry(state: SagaState, why: TurnReason, late?: string): Entry {
  const step = state.failure?.step ?? late ?? state.expired?.step ?? state.plan[currentStep(state)]?.name;
  const details: ControlDetails = { ...state.cancel, kind: why, step };
  return control("$turn", details);
}
