/**
 * The path of a run through the steps of its saga. A step is due once all events that it takes were given: one after the
 * other in a chain, several at once where they take the same event, and only those of the branch whose event was given.
 * Everything is derived from what was completed, in its order, so that nothing else has to be stored.
 */
import type { FlowPlan, FlowState, FlowStep } from "./state.ts";

/** What a run was given, and what it waits for. */
export interface Progress {
  /** The trigger and the events of the completed steps, in their order. */
  readonly given: readonly string[];
  /** The steps that the run waits for, in the order of the plan. */
  readonly due: readonly string[];
}

type Done = Pick<FlowState, "completedSteps" | "answers">;

/** Undefined if the completed steps do not follow from the plan: the saga was changed while the run was open. */
export function progressOf(plan: FlowPlan, { completedSteps, answers }: Done): Progress | undefined {
  const given = [plan.trigger];
  for (const [index, name] of completedSteps.entries()) {
    const step = stepOf(plan, name);
    const isDue =
      step !== undefined && !completedSteps.slice(0, index).includes(name) && isGiven(step, given);
    const answer = isDue ? answerOf(step, answers[name]) : undefined;
    if (answer === undefined) return undefined;
    given.push(answer);
  }
  const isOpen = (step: FlowStep): boolean => !completedSteps.includes(step.name) && isGiven(step, given);
  return { given, due: plan.steps.filter(isOpen).map(({ name }) => name) };
}

/** The event that a completed step gave: the only one that it can, or the one that was recorded. */
export function answerOf({ gives }: FlowStep, recorded: string | undefined): string | undefined {
  if (gives.length === 1) return gives[0];
  return recorded !== undefined && gives.includes(recorded) ? recorded : undefined;
}

/** The steps that cannot be due any more, because the run took another branch. */
export function notTaken(plan: FlowPlan, state: Done): readonly string[] {
  const progress = progressOf(plan, state);
  if (!progress) return [];
  const possible = new Set(progress.given);
  const open = new Set(plan.steps.filter(({ name }) => !state.completedSteps.includes(name)));
  for (let before = -1; before !== open.size;) {
    before = open.size;
    for (const step of open) {
      if (!step.takes.every((event) => possible.has(event))) continue;
      open.delete(step);
      for (const event of step.gives) possible.add(event);
    }
  }
  return [...open].map(({ name }) => name);
}

export function stepOf(plan: FlowPlan, name: string): FlowStep | undefined {
  return plan.steps.find((step) => step.name === name);
}

function isGiven({ takes }: FlowStep, given: readonly string[]): boolean {
  return takes.every((event) => given.includes(event));
}
