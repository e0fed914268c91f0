/** Which steps of a plan follow each other: a choice leads to one of its two branches, and both lead to what stands behind it. */
import type { Branch } from "../../core/saga/steps/branch.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";

type Steps = readonly PlannedStep[];

/** Does the step stand in this branch itself, and not in one of a choice inside of it? */
export function isIn(step: PlannedStep | undefined, branch: Branch | undefined): boolean {
  return step !== undefined && step.branch?.choice === branch?.choice && step.branch?.when === branch?.when;
}

/**
 * The places that may follow on the success of a step; the length of the plan is the end. Of a choice, they are that of a yes and that
 * of a no.
 */
export function following(plan: Steps, index: number): readonly number[] {
  const { choice, name, branch, fallback } = plan[index] as PlannedStep;
  if (choice) {
    const other = plan.findIndex((step) => isIn(step, { choice: name, when: false }));
    return [index + 1, other < 0 ? behind(plan, name) : other];
  }
  const next = fallback === undefined ? index + 1 : index + 2;
  if (next >= plan.length || isIn(plan[next], branch)) return [next];
  return [branch ? behind(plan, branch.choice) : next];
}

/** The place that follows both branches of a choice. */
function behind(plan: Steps, choice: string): number {
  const { branch } = plan.find(({ name }) => name === choice) as PlannedStep;
  const first = plan.findIndex(({ name }) => name === choice) + 1;
  const next = plan.findIndex((step, index) => index >= first && isIn(step, branch));
  if (next >= 0) return next;
  return branch ? behind(plan, branch.choice) : plan.length;
}

/** The steps one of which was done right before this one, the last first. Those before a fallback are those before its step. */
export function preceding(plan: Steps, index: number): readonly number[] {
  const own = plan[index]?.instead === undefined ? index : index - 1;
  const before = [...plan.keys()].filter((one) => one < own && following(plan, one).includes(own));
  return before.toReversed();
}
