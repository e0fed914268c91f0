/**
 * A world for the interpreter of lists, choices, rounds, waits, children and ends: the log of one saga, the worker that has it, and the
 * systems outside in which effects happen. Effects are counted here, without asking the interpreter. That workers with old copies write
 * nothing is shown by the other model (model/): here one worker has the saga at a time.
 */
import type { CallCommand } from "../../../../src/core/saga/interpreter.ts";
import type { Plan, PlannedStep } from "../../../../src/core/saga/plan.ts";
import {
  initial,
  indexOf,
  stateAt,
  type SagaState,
  type StepState,
} from "../../../../src/core/saga/state.ts";
import { itemAt } from "../../../../src/core/saga/steps/items.ts";
import { partOf } from "../../../../src/core/saga/part-name.ts";

/** What the key of a call stands for outside. A key that was undone never takes effect again; what was refused may be allowed later. */
export type Effect = "done" | "undone" | "refused";

/** What has become of the child of a step. `cancelled` and `reversing` have not ended. */
export type Child = "open" | "cancelled" | "completed" | "failed" | "reversing" | "undone";

export interface World {
  readonly plan: Plan;
  readonly state: SagaState;
  /** A worker has the saga, and makes these calls. */
  readonly isHeld: boolean;
  readonly calling: readonly CallCommand[];
  /** By the name of the step, item or round. */
  readonly effects: Readonly<Record<string, Effect>>;
  /** The acts that the log says have begun. */
  readonly begun: ReadonlySet<string>;
  /** What the log says: which acts are done, how long lists are, and what was chosen. */
  readonly recorded: Readonly<Record<string, string>>;
  readonly child: Child | undefined;
  /** Which child of its step it is: a person may have another one started. */
  readonly childNumber: number;
  /** What was sent to the saga, in its order. */
  readonly arrivals: readonly string[];
  /** The time of the wait at which the saga is has passed. */
  readonly isOver: boolean;
  readonly expired: boolean;
  /** A person ended the saga and answers for its effects. */
  readonly resolved: boolean;
  /** How much may still go wrong, how often people may still step in, and whether the completed saga may be taken back. */
  readonly troubles: number;
  readonly orders: number;
  readonly reversals: number;
}

export interface Budget {
  readonly troubles: number;
  readonly orders: number;
  readonly reversals: number;
}

export function beginning(plan: Plan, budget: Budget): World {
  return {
    ...budget,
    plan,
    state: initial(plan, false),
    isHeld: false,
    calling: [],
    effects: {},
    begun: new Set(),
    recorded: {},
    child: undefined,
    childNumber: 0,
    arrivals: [],
    isOver: false,
    expired: false,
    resolved: false,
  };
}

/** One thing that has effects of its own, and is undone by itself: a step, or an item of a list. */
export interface Unit {
  readonly name: string;
  readonly index: number;
  readonly planned: PlannedStep;
  readonly step: StepState;
  /** The names of its effects: of a step in rounds there is one for each round. */
  readonly effects: readonly string[];
}

/** In the order of the plan. Choices, waits and ends have no effects. */
export function unitsOf({ plan, state, effects }: World): readonly Unit[] {
  return plan.flatMap((planned, index): Unit[] => {
    const { name } = planned;
    if (planned.choice || planned.wait || planned.end) return [];
    const step = state.steps[index] as StepState;
    if (planned.each) {
      const count = step.items?.list.length ?? 0;
      return Array.from({ length: count }, (_, number) => {
        const item = `${name}[${number}]`;
        const own = itemAt(step.items as NonNullable<StepState["items"]>, number) as StepState;
        return { name: item, index, planned, step: own, effects: [item] };
      });
    }
    const own = planned.repeat ? Object.keys(effects).filter((key) => partOf(key).step === name) : [name];
    return [{ name, index, planned, step, effects: own }];
  });
}

/** Something is left of it outside. */
export function isLeft({ effects, child }: World, unit: Unit): boolean {
  if (unit.planned.child !== undefined)
    return child !== undefined && child !== "failed" && child !== "undone";
  return unit.effects.some((name) => effects[name] === "done");
}

/** Is the step in no branch, or in one that was chosen, as it is recorded? */
export function isOnWay({ plan, recorded }: Pick<World, "plan" | "recorded">, index: number): boolean {
  for (let branch = plan[index]?.branch; branch;) {
    const { choice, when } = branch;
    if (recorded[choice] !== String(when)) return false;
    branch = plan.find(({ name }) => name === choice)?.branch;
  }
  return true;
}

/** The state of the step, item or round that a name names. */
export function stateOf(state: SagaState, name: string): StepState {
  const index = indexOf(state, name);
  return stateAt(state, index, partOf(name).number);
}

/** The same text for worlds from which the same can follow. */
export function keyOf(world: World): string {
  const { calling, effects, begun, recorded, child, childNumber, arrivals } = world;
  const { isHeld, isOver, expired, resolved, troubles, orders, reversals } = world;
  return JSON.stringify([
    stateKey(world.state),
    calling.map(({ kind, step }) => `${kind} ${step}`).toSorted(),
    sorted(effects),
    [...begun].toSorted(),
    sorted(recorded),
    [child, childNumber, arrivals],
    [isHeld, isOver, expired, resolved, troubles, orders, reversals],
  ]);
}

function sorted(record: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(record)
    .map(([name, value]) => `${name} ${value}`)
    .toSorted();
}

const keys = new WeakMap<SagaState, string>();

/** How often a call was begun counts up to twice: a try that was refused after another one may have happened. */
export function stateKey(state: SagaState): string {
  const known = keys.get(state);
  if (known !== undefined) return known;
  const { status, failure, stall, cancel, expired, resolved, isReversal, steps } = state;
  const key = JSON.stringify([
    [status, failure?.kind, failure?.step, stall?.kind, stall?.step, resolved, isReversal],
    [cancel !== undefined, expired !== undefined],
    steps.map(stepKey),
  ]);
  keys.set(state, key);
  return key;
}

function stepKey(step: StepState): unknown {
  const { act, undo, acts, actFailures, undoFailures, result, received, round, awaited, failedChildren } =
    step;
  const { failing, items } = step;
  const list = items?.list.map((_, number) => stepKey(itemAt(items, number) as StepState));
  const counts = [Math.min(acts, 2), actFailures, undoFailures, round, failedChildren];
  return [act, undo, counts, result, received, awaited, failing !== undefined, list];
}
