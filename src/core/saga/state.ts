/** The state of a saga, as its log adds up: its status, and the state of each step. evolve.ts says how a line changes it. */
import { AmendsError } from "../errors.ts";
import type { ControlDetails, Failure, Mark } from "./entry.ts";
import { RECORDED, sagaMachine, type SagaEvent, type SagaStatus } from "./machine.ts";
import { isPart, partName, partOf, stepOf } from "./part-name.ts";
import { openingName } from "./path.ts";
import type { Plan, PlannedStep } from "./plan.ts";
import { itemAt, mapItems, openItems, withItem } from "./steps/items.ts";
import { begun as begunStep, FRESH, reopened, type EachField, type StepState } from "./steps/state.ts";
import { undoDue } from "./undoing.ts";

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
  /** A person holds it: nothing of it begins, and nothing is decided, until it is resumed. */
  readonly paused?: Pause | undefined;
  /** A person has ended it like this: what follows the end is still to be done. */
  readonly resolved?: "COMPLETED" | "FAILED" | undefined;
  /** It takes back a saga that has completed: its steps are as that saga left them, and their undos are what it does. */
  readonly isReversal?: boolean | undefined;
}

/** Who holds a saga, why, and since when (milliseconds since the epoch, where the line was read from the database). */
export interface Pause extends Pick<ControlDetails, "reason" | "by"> {
  readonly atMs: number | undefined;
}

/** A saga that was only recorded; with `begun`, one whose first act has begun together with it. */
export function initial(plan: Plan, begun: boolean, atMs?: number): SagaState {
  const pivot = plan.findIndex((planned) => planned.pivot);
  const state = copied(
    { plan, pivot, status: RECORDED, steps: [] },
    RECORDED,
    Array<StepState>(plan.length).fill(FRESH),
  );
  if (!begun) return state;
  return start(moved(state, "begin"), { step: openingName(plan[0] as PlannedStep), action: "act" }, atMs);
}

/**
 * The state of a saga that takes back a completed one: it was only recorded, and every step is as the other left it. Where nothing
 * is to be undone, it has completed: no worker would find anything to do.
 */
export function reversalOf({ plan, pivot, steps }: SagaState): SagaState {
  const recorded: SagaState = {
    plan,
    pivot,
    steps: steps.map(leftBehind),
    status: RECORDED,
    isReversal: true,
  };
  return undoDue(recorded) ? recorded : moved(moved(recorded, "begin"), "complete");
}

/** What was sent to the other saga was not sent to this one, and an undo that failed there has new tries. */
function leftBehind(step: StepState): StepState {
  const { received, undo, items } = step;
  if (received === undefined && undo !== "failed" && !items) return step;
  const open = undo === "failed" ? reopened(step, false) : step;
  return { ...open, received: undefined, ...(items && { items: mapItems(items, leftBehind) }) };
}

/** The same state with this call begun. */
export function start(state: SagaState, mark: Mark, atMs?: number): SagaState {
  return patch(state, mark.step, (one, planned, number) =>
    begunStep(planned, one, mark.action, number, atMs),
  );
}

/**
 * The same for a state that was just made from `before`. Its list of steps is changed in place if it is new too: a line
 * mostly ends one call and begins the next, and would copy the list twice.
 */
export function startNext(state: SagaState, before: SagaState, mark: Mark, atMs?: number): SagaState {
  if (state.steps === before.steps || isPart(mark.step)) return start(state, mark, atMs);
  const index = indexOf(state, mark.step);
  const steps = state.steps as StepState[];
  const planned = state.plan[index] as PlannedStep;
  steps[index] = begunStep(planned, steps[index] as StepState, mark.action, undefined, atMs);
  return state;
}

/** The saga with its status moved along one arrow. */
export function moved(state: SagaState, event: SagaEvent): SagaState {
  return copied(state, sagaMachine.move(state.status, event), state.steps);
}

/**
 * The same state with this status and these steps. Every line makes such a copy, and it is written field by field, because a
 * spread costs V8 some ten times as much. The type demands every field.
 */
function copied(state: SagaState, status: SagaStatus, steps: readonly StepState[]): SagaState {
  const { plan, pivot, failure, cancel, expired, stall, paused, resolved, isReversal } = state;
  const copy: EachField<SagaState> = {
    plan,
    pivot,
    status,
    steps,
    failure,
    cancel,
    expired,
    stall,
    paused,
    resolved,
    isReversal,
  };
  return copy;
}

/** Some act of a group or of a list has begun, and how it ended is not known yet. */
export function isActing(state: SagaState): boolean {
  return state.steps.some((_, index) => isActingAt(state, index));
}

/** The same of this step: it is one of a group, or an item of its list. */
export function isActingAt({ steps, plan }: SagaState, index: number): boolean {
  const { act, items } = steps[index] as StepState;
  return items ? items.begun > 0 : act === "begun" && plan[index]?.group !== undefined;
}

/** The step behind the pivot that keeps failing and needs a person, while it is tried again; undefined if there is none. */
export function failingStep(state: SagaState): FailingStep | undefined {
  const { status, pivot, steps } = state;
  if (pivot < 0 || status !== "RUNNING") return undefined;
  for (let index = pivot + 1; index < steps.length; index++) {
    const { items } = steps[index] as StepState;
    const [item] =
      items && items.failing > 0 ? openItems(items, ({ failing }) => failing !== undefined, 1) : [];
    const failing = failingAt(state, index, item);
    if (failing) return failing;
  }
  return undefined;
}

function failingAt(state: SagaState, index: number, item: number | undefined): FailingStep | undefined {
  const step = stateAt(state, index, item);
  if (!step.failing) return undefined;
  const name = nameAt(state, index, item);
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

/** The same state with one step changed, or one item of its list. `number`: the round that the name says. */
export function patch(
  state: SagaState,
  name: string,
  change: (step: StepState, planned: PlannedStep, number: number | undefined) => StepState,
): SagaState {
  if (isPart(name)) return patchPart(state, name, change);
  const index = indexOf(state, name);
  const steps = state.steps.slice();
  steps[index] = change(steps[index] as StepState, state.plan[index] as PlannedStep, undefined);
  return copied(state, state.status, steps);
}

function patchPart(state: SagaState, name: string, change: Parameters<typeof patch>[2]): SagaState {
  const { step, number } = partOf(name);
  const index = indexOf(state, step);
  const [planned, before] = [state.plan[index] as PlannedStep, state.steps[index] as StepState];
  const { items } = before;
  const steps = state.steps.slice();
  if (!items) steps[index] = change(before, planned, number);
  else {
    const item = itemAt(items, number as number);
    if (!item)
      throw new AmendsError("BAD_DEFINITION", `The log names an item that the saga does not have: ${name}.`);
    steps[index] = { ...before, items: withItem(items, number as number, change(item, planned, undefined)) };
  }
  return copied(state, state.status, steps);
}

/** The state of a step, or of one item of its list. */
export function stateAt({ steps }: SagaState, index: number, item: number | undefined): StepState {
  const step = steps[index] as StepState;
  return item === undefined || !step.items ? step : (itemAt(step.items, item) as StepState);
}

/** The name in the log of a step, or of one item of its list. */
export function nameAt({ plan }: SagaState, index: number, item: number | undefined): string {
  const { name } = plan[index] as PlannedStep;
  return item === undefined ? name : partName(name, item);
}

/** Where the step that a name in the log names, or of which it names an item or a round, stands in the plan. */
export function indexOf({ plan }: SagaState, name: string): number {
  const step = stepOf(name);
  for (let index = 0; index < plan.length; index++) if (plan[index]?.name === step) return index;
  throw new AmendsError("BAD_DEFINITION", `The log names a step that the saga does not have: ${name}.`);
}
