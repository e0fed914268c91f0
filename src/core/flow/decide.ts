/**
 * The orchestrator's decisions: the effect of one result on a run, and the messages to send. A duplicate or late
 * result changes nothing; a result that comes too early is a contract violation. Compensation goes backward, one
 * answered command at a time, and begins only when no handler of the run is active.
 */
import { flowMachine, type FlowStatus } from "./machine.ts";
import type { FlowFailure, FlowPlan, FlowState, FlowStep } from "./state.ts";

/** The result of a handler: its success event, its failure event, or none after its last attempt. */
export type StepEnd = "ok" | "err" | "exhausted";

export type FlowEvent =
  | { readonly kind: "act" | "undo"; readonly step: string; readonly end: StepEnd; readonly error: string }
  /** The run timed out. `delivery` is the state of the handler that the run waits for. */
  | { readonly kind: "deadline"; readonly delivery: "unbegun" | "doubtful" | "running" }
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
      return decideAct(plan, state, event.step, event.end, event.error);
    case "undo":
      return decideUndo(plan, state, event.step, event.end);
    case "deadline":
      return decideDeadline(plan, state, event.delivery);
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
  const index = plan.steps.findIndex(({ name }) => name === step);
  const isAltered = state.completedSteps.some((name, at) => plan.steps[at]?.name !== name);
  if (index < 0 || isAltered) return "early";
  if (state.status !== "running") return state.lateStep === step ? "due" : "past";
  return index < state.currentStep ? "past" : index > state.currentStep ? "early" : "due";
}

function decideAct(
  plan: FlowPlan,
  state: FlowState,
  step: string,
  end: StepEnd,
  error: string,
): FlowDecision {
  const due = expects(plan, state, step);
  if (due !== "due") return due === "early" ? { kind: "early" } : IGNORED;
  if (state.status === "running") {
    if (end === "ok") return forward(plan, state, step);
    const failure = { step, error };
    return turnBack(plan, { ...state, failure }, end === "err" ? [] : [step], end === "err" ? [RESULT] : []);
  }
  // The handler ended after the run began to compensate: undo this step first if it may have had effects.
  const done = end === "ok" ? [...state.completedSteps, step] : state.completedSteps;
  const settled = { ...state, completedSteps: done, lateStep: undefined };
  const own = end === "err" ? [] : undoable(plan, [step]);
  return goBack(plan, settled, [...own, ...state.undoSteps], "undo", end === "err" ? [RESULT] : []);
}

function forward(plan: FlowPlan, state: FlowState, step: string): FlowDecision {
  const completedSteps = [...state.completedSteps, step];
  const currentStep = state.currentStep + 1;
  const isLast = currentStep >= plan.steps.length;
  const status = move(state.status, isLast ? "complete" : "advance");
  const emit = isLast ? FINISH : GO_ON;
  const { undoSteps, lateStep, failure } = state;
  const next = { status, currentStep, completedSteps, undoSteps, lateStep, failure };
  return { kind: "applied", state: next, emit };
}

function decideUndo(plan: FlowPlan, state: FlowState, step: string, end: StepEnd): FlowDecision {
  const isAwaited =
    state.status === "compensating" && state.lateStep === undefined && state.undoSteps[0] === step;
  if (!isAwaited) return IGNORED;
  const before = end === "exhausted" ? [] : [RESULT];
  if (end === "ok") return goBack(plan, state, state.undoSteps.slice(1), "undo", before);
  return { kind: "applied", state: { ...state, status: move(state.status, "stall") }, emit: before };
}

function decideDeadline(
  plan: FlowPlan,
  state: FlowState,
  delivery: "unbegun" | "doubtful" | "running",
): FlowDecision {
  const current = plan.steps[state.currentStep];
  if (state.status !== "running" || current === undefined) return IGNORED;
  const failure = { step: current.name, error: "DeadlinePassed" };
  const failed = { ...state, failure };
  if (delivery !== "running")
    return turnBack(plan, failed, delivery === "doubtful" ? [current.name] : [], []);
  const undoSteps = undoable(plan, state.completedSteps.toReversed());
  const status = move(state.status, "turnBack");
  return { kind: "applied", state: { ...failed, status, undoSteps, lateStep: current.name }, emit: [] };
}

/** From running: the steps in doubt are undone first, then all completed steps. */
function turnBack(
  plan: FlowPlan,
  state: FlowState,
  inDoubt: readonly string[],
  before: readonly FlowEmission[],
): FlowDecision {
  const undoSteps = undoable(plan, [...inDoubt, ...state.completedSteps.toReversed()]);
  return goBack(plan, state, undoSteps, "turnBack", before);
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

function stepOf(plan: FlowPlan, name: string): FlowStep | undefined {
  return plan.steps.find((step) => step.name === name);
}

function move(from: FlowStatus, arrow: Parameters<typeof flowMachine.target>[1]): FlowStatus {
  const target = flowMachine.target(from, arrow);
  if (target === undefined) throw new Error(`a run that is ${from} cannot ${arrow}`);
  return target;
}
