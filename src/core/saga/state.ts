/** The state of a saga, as its log adds up: its status, and the state of each step. evolve.ts says how a line changes it. */
import { AmendsError } from "../errors.ts";
import type { ControlDetails, Failure, Mark } from "./entry.ts";
import { RECORDED, sagaMachine, type SagaEvent, type SagaStatus } from "./machine.ts";
import type { Plan, PlannedStep } from "./plan.ts";
import { begun as begunStep, FRESH, type StepState } from "./step-state.ts";

export type { StepState };

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

/** A saga that was only recorded; with `begun`, one whose first act has begun together with it. */
export function initial(plan: Plan, begun: boolean, atMs?: number): SagaState {
  const state: SagaState = {
    plan,
    pivot: plan.findIndex((planned) => planned.pivot),
    status: RECORDED,
    steps: plan.map(() => FRESH),
    failure: undefined,
    cancel: undefined,
    expired: undefined,
    stall: undefined,
  };
  if (!begun) return state;
  return start(moved(state, "begin"), { step: (plan[0] as PlannedStep).name, action: "act" }, atMs);
}

/** The same state with this call begun. */
export function start(state: SagaState, mark: Mark, atMs?: number): SagaState {
  return patch(state, mark.step, (one, planned) => begunStep(planned, one, mark.action, atMs));
}

/**
 * The same for a state that was just made from `before`. Its list of steps is changed in place if it is new too: a line
 * mostly ends one call and begins the next, and would copy the list twice.
 */
export function startNext(state: SagaState, before: SagaState, mark: Mark, atMs?: number): SagaState {
  if (state.steps === before.steps) return start(state, mark, atMs);
  const index = indexOf(state, mark.step);
  const steps = state.steps as StepState[];
  steps[index] = begunStep(state.plan[index] as PlannedStep, steps[index] as StepState, mark.action, atMs);
  return state;
}

/** The saga with its status moved along one arrow. */
export function moved(state: SagaState, event: SagaEvent): SagaState {
  return { ...state, status: sagaMachine.move(state.status, event) };
}

/** Some act of a group has begun, and how it ended is not known yet. */
export function isActing(state: SagaState): boolean {
  return state.steps.some((_, index) => isActingAt(state, index));
}

/** The act of this step of a group has begun, and how it ended is not known yet. */
export function isActingAt({ steps, plan }: SagaState, index: number): boolean {
  return steps[index]?.act === "begun" && plan[index]?.group !== undefined;
}

/** The step behind the pivot that keeps failing and needs a person, while it is tried again; undefined if there is none. */
export function failingStep({ status, steps, plan, pivot }: SagaState): FailingStep | undefined {
  if (pivot < 0 || status !== "RUNNING") return undefined;
  const index = steps.findIndex(({ failing }) => failing !== undefined);
  const step = steps[index];
  if (!step?.failing) return undefined;
  const name = (plan[index] as PlannedStep).name;
  return { name, failures: step.actFailures, failure: step.failing, isCalled: step.act === "begun" };
}

export interface FailingStep {
  readonly name: string;
  /** How often it has failed. */
  readonly failures: number;
  readonly failure: Failure;
  /** It is being called now. */
  readonly isCalled: boolean;
}

/** The same state with one step changed. */
export function patch(
  state: SagaState,
  name: string,
  change: (step: StepState, planned: PlannedStep) => StepState,
): SagaState {
  const index = indexOf(state, name);
  const steps = state.steps.slice();
  steps[index] = change(steps[index] as StepState, state.plan[index] as PlannedStep);
  return { ...state, steps };
}

export function indexOf({ plan }: SagaState, name: string): number {
  for (let index = 0; index < plan.length; index++) if (plan[index]?.name === name) return index;
  throw new AmendsError("BAD_DEFINITION", `The log names a step that the saga does not have: ${name}.`);
}
