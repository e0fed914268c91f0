/**
 * The checks of a saga's steps when it is defined: those of the compiler (chain.ts), and those that it cannot make, about
 * every path that a run can take.
 */
import { branchesOf } from "../../core/flow/branches.ts";
import type { FlowPlan } from "../../core/flow/state.ts";
import type { AnyEvent } from "./event.ts";
import type { SagaStep } from "./saga-step.ts";
import { givesOf, takesOf } from "./several.ts";
import { SagaContractViolation } from "./violation.ts";

/** The steps as the orchestrator decides by them, without their compensations. */
export function pathPlan(trigger: AnyEvent, steps: readonly SagaStep[]): FlowPlan {
  return {
    trigger: trigger.type,
    steps: steps.map(({ name, handler }) => ({
      name,
      undo: "none",
      takes: takesOf(handler).map(({ type }) => type),
      gives: givesOf(handler).map(({ type }) => type),
    })),
  };
}

/** Throws a SagaContractViolation for a step that does not fit, with both sides. */
export function checkPaths(where: string, trigger: AnyEvent, steps: readonly SagaStep[]): void {
  const refuse = (why: string): never => {
    throw new SagaContractViolation(`${where}: ${why}.`);
  };
  const plan = pathPlan(trigger, steps);
  let [by, given, before] = ["the trigger", [plan.trigger], new Set([plan.trigger])];
  for (const [index, { name, takes, gives }] of plan.steps.entries()) {
    const missing = takes.filter((event) => !before.has(event));
    if (missing.length === takes.length)
      refuse(`step ${name} takes ${takes.join(" and ")}, but ${by} gives ${given.join(" or ")}`);
    if (missing.length > 0)
      refuse(`step ${name} waits for ${missing.join(" and ")}, which no step before it gives`);
    [by, given] = [`step ${name}`, [...gives]];
    // Only the first step takes the trigger: it begins the run.
    before = new Set(index === 0 ? gives : [...before, ...gives]);
  }
  for (const [index, { name, gives }] of plan.steps.slice(0, -1).entries()) {
    const later = plan.steps.slice(index + 1);
    const ends = steps[index]?.ends.map(({ type }) => type) ?? [];
    const untaken = gives.find(
      (event) => !ends.includes(event) && !later.some(({ takes }) => takes.includes(event)),
    );
    if (untaken !== undefined)
      refuse(`no later step takes ${untaken}, which step ${name} gives: add a step, or name it in \`ends\``);
  }
  for (const [index, { name, ends }] of steps.entries()) {
    const taken = ends.find(({ type }) =>
      plan.steps.slice(index + 1).some(({ takes }) => takes.includes(type)),
    );
    if (taken) refuse(`step ${name} ends with ${taken.type}, but a later step takes it`);
  }
  const { problem, beside } = branchesOf(plan);
  if (problem !== undefined) refuse(problem);
  const timed = steps.find(({ name, deadlineMs }) => deadlineMs !== undefined && beside.has(name));
  if (timed)
    refuse(
      `step ${timed.name} may run beside another one, so it cannot have a deadline of its own: give the saga a \`deadline\`, or the handler a \`timeout\``,
    );
}
