/**
 * The orchestrator's decisions: the effect of one result on a run, and the messages to send. A duplicate or late
 * result changes nothing; a result that comes too early is a contract violation. Compensation goes backward, one
 * answered command at a time, and begins only when no handler of the run is active.
 */
import { flowMachine, type FlowStatus } from "./machine.ts";
import { answerOf, progressOf, stepOf } from "./path.ts";
import type { FlowFailure, FlowPlan, FlowState } from "./state.ts";

/** The result of a handler: its success event, its failure event, or none after its last attempt. */
export type StepEnd = "ok" | "err" | "exhausted";

export type FlowEvent =
  | {
      readonly kind: "act" | "undo";
      readonly step: string;
      readonly end: StepEnd;
      readonly error: string;
      /** The event of the success; needed of a step that may give one of several. */
      readonly answer?: string | undefined;
    }
  /** The run timed out. `delivery` is the state of the handler of this step. Default: the first step that is due. */
  | {
      readonly kind: "deadline";
      readonly delivery: "unbegun" | "doubtful" | "running";
      readonly step?: string;
    }
  /** An operator retries the failed compensation. */
  | { readonly kind: "retry" }
  /** An operator resolved the failed compensation by hand. */
  | { readonly kind: "resolve" };

/** The messages to send, in this order. */
export type FlowEmission =
  /** The event that the handler returned. */
  | { readonly kind: "result" }
  | { readonly kind: "command"; readonly step: string }
  | { readonly kind: "completed" }
  | { readonly kind: "failed"; readonly failure: FlowFailure };

export type FlowDecision =
  | { readonly kind: "applied"; readonly state: FlowState; readonly emit: readonly FlowEmission[] }
  /** A duplicate, or a result that the run no longer waits for. */
  | { readonly kind: "ignored" }
  /** A result of a step that is not due yet. */
  | { readonly kind: "early" };

const IGNORED: FlowDecision = { kind: "ignored" };
const RESULT: FlowEmission = { kind: "result" };
const GO_ON: readonly FlowEmission[] = [RESULT];
const FINISH: readonly FlowEmission[] = [RESULT, { kind: "completed" }];

export function decide(plan: FlowPlan, state: FlowState, event: FlowEvent): FlowDecision {
  switch (event.kind) {
    case "act":
      return decideAct(plan, state, event);
    case "undo":
      return decideUndo(plan, state, event.step, event.end);
    case "deadline":
      return decideDeadline(plan, state, event.delivery, event.step);
    case "retry":
      return state.status === "stalled" ? goBack(plan, state, state.undoSteps, "resume", []) : IGNORED;
    case "resolve":
      return state.status === "stalled"
        ? goBack(plan, state, state.undoSteps.slice(1), "resume", [])
        : IGNORED;
    default:
      return event satisfies never;
  }
}

/**
 * Whether a run waits for this step's handler: checked before the handler is called, and again by every decision.
 */
export function expects(plan: FlowPlan, state: FlowState, step: string): "due" | "past" | "early" {
  const progress = stepOf(plan, step) && progressOf(plan, state);
  if (!progress) return "early";
  if (state.status !== "running") return state.lateSteps.includes(step) ? "due" : "past";
  if (state.completedSteps.includes(step)) return "past";
  return progress.due.includes(step) ? "due" : "early";
}

function decideAct(
  plan: FlowPlan,
  state: FlowState,
  event: FlowEvent & { readonly kind: "act" | "undo" },
): FlowDecision {
  const { step, end, error } = event;
  const due = expects(plan, state, step);
  if (due !== "due") return due === "early" ? { kind: "early" } : IGNORED;
  const after = end === "ok" ? completed(plan, state, step, event.answer) : state;
  if (!after) return { kind: "early" };
  const before = end === "err" ? [RESULT] : [];
  if (state.status === "running") {
    if (end === "ok") return forward(plan, after);
    const late = dueSteps(plan, state).filter((other) => other !== step);
    return turnBack(plan, { ...state, failure: { step, error } }, end === "err" ? [] : [step], late, before);
  }
  // The handler ended after the run began to compensate: undo this step first if it may have had effects.
  const lateSteps = state.lateSteps.filter((other) => other !== step);
  const own = end === "err" ? [] : undoable(plan, [step]);
  return backOrWait(plan, { ...after, lateSteps }, [...own, ...state.undoSteps], "undo", before);
}

/** The state with this step done; undefined for an answer that the step does not give. */
function completed(
  plan: FlowPlan,
  state: FlowState,
  name: string,
  given: string | undefined,
): FlowState | undefined {
  const step = stepOf(plan, name);
  const answer = step && answerOf(step, given);
  if (!step || answer === undefined) return undefined;
  const answers = step.gives.length === 1 ? state.answers : { ...state.answers, [name]: answer };
  return { ...state, completedSteps: [...state.completedSteps, name], answers };
}

function forward(plan: FlowPlan, after: FlowState): FlowDecision {
  const isLast = dueSteps(plan, after).length === 0;
  const status = move(after.status, isLast ? "complete" : "advance");
  const state = { ...after, status, currentStep: after.currentStep + 1 };
  return { kind: "applied", state, emit: isLast ? FINISH : GO_ON };
}

function decideUndo(plan: FlowPlan, state: FlowState, step: string, end: StepEnd): FlowDecision {
  const isAwaited =
    state.status === "compensating" && state.lateSteps.length === 0 && state.undoSteps[0] === step;
  if (!isAwaited) return IGNORED;
  const before = end === "exhausted" ? [] : [RESULT];
  if (end === "ok") return goBack(plan, state, state.undoSteps.slice(1), "undo", before);
  return { kind: "applied", state: { ...state, status: move(state.status, "stall") }, emit: before };
}

/** Only of one step it is known whether its handler runs: every other step that is due is waited for. */
function decideDeadline(
  plan: FlowPlan,
  state: FlowState,
  delivery: "unbegun" | "doubtful" | "running",
  given: string | undefined,
): FlowDecision {
  const due = state.status === "running" ? dueSteps(plan, state) : [];
  const step = given ?? due[0];
  if (step === undefined || !due.includes(step)) return IGNORED;
  const failed = { ...state, failure: { step, error: "DeadlinePassed" } };
  const late = delivery === "running" ? due : due.filter((other) => other !== step);
  return turnBack(plan, failed, delivery === "doubtful" ? [step] : [], late, []);
}

/** From running: the steps in doubt are undone first, then all completed steps. */
function turnBack(
  plan: FlowPlan,
  state: FlowState,
  inDoubt: readonly string[],
  lateSteps: readonly string[],
  before: readonly FlowEmission[],
): FlowDecision {
  const undoSteps = undoable(plan, [...inDoubt, ...state.completedSteps.toReversed()]);
  return backOrWait(plan, { ...state, lateSteps }, undoSteps, "turnBack", before);
}

/** Nothing is undone while a handler of the run may be active. */
function backOrWait(
  plan: FlowPlan,
  state: FlowState,
  undoSteps: readonly string[],
  arrow: "turnBack" | "undo",
  emit: readonly FlowEmission[],
): FlowDecision {
  if (state.lateSteps.length === 0) return goBack(plan, state, undoSteps, arrow, emit);
  return { kind: "applied", state: { ...state, status: move(state.status, arrow), undoSteps }, emit };
}

/** Sends commands up to the first one that a handler answers. If no such command is left, the run has failed. */
function goBack(
  plan: FlowPlan,
  state: FlowState,
  undoSteps: readonly string[],
  arrow: "turnBack" | "undo" | "resume",
  before: readonly FlowEmission[],
): FlowDecision {
  const emit = [...before];
  for (const [index, step] of undoSteps.entries()) {
    emit.push({ kind: "command", step });
    if (stepOf(plan, step)?.undo !== "answered") continue;
    const waiting = { ...state, status: move(state.status, arrow), undoSteps: undoSteps.slice(index) };
    return { kind: "applied", state: waiting, emit };
  }
  emit.push({ kind: "failed", failure: state.failure as FlowFailure });
  return { kind: "applied", state: { ...state, status: move(state.status, "fail"), undoSteps: [] }, emit };
}

function undoable(plan: FlowPlan, steps: readonly string[]): string[] {
  return steps.filter((step) => stepOf(plan, step)?.undo !== "none");
}

function dueSteps(plan: FlowPlan, state: FlowState): readonly string[] {
  return progressOf(plan, state)?.due ?? [];
}

function move(from: FlowStatus, arrow: Parameters<typeof flowMachine.target>[1]): FlowStatus {
  const target = flowMachine.target(from, arrow);
  if (target === undefined) throw new Error(`a run that is ${from} cannot ${arrow}`);
  return target;
}
