/**
 * Every path that the runs of a saga can take. A definition is refused if on one of them a step waits for an event that
 * never comes, or would begin twice.
 */
import { progressOf, stepOf } from "./path.ts";
import type { FlowPlan } from "./state.ts";

/** What is wrong with a plan, in words. */
export type BranchProblem = string;

/** What the paths of a plan have in common. */
export interface Branches {
  readonly problem: BranchProblem | undefined;
  /** The steps that may run beside another one. */
  readonly beside: ReadonlySet<string>;
  /** By step: the steps that may be completed when it begins. */
  readonly before: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The number of states that are looked at: about twelve steps beside each other. */
const STATES_MAX = 10_000;

interface Place {
  readonly completedSteps: readonly string[];
  readonly answers: Readonly<Record<string, string>>;
}

export function branchesOf(plan: FlowPlan): Branches {
  const beside = new Set<string>();
  const before = new Map(plan.steps.map(({ name }) => [name, new Set<string>()]));
  const seen = new Set<string>();
  const open: Place[] = [{ completedSteps: [], answers: {} }];
  for (let place = open.pop(); place; place = open.pop()) {
    const key = [...place.completedSteps]
      .toSorted()
      .map((name) => `${name} ${place?.answers[name] ?? ""}`)
      .join("\n");
    if (seen.has(key)) continue;
    seen.add(key);
    if (seen.size > STATES_MAX)
      return {
        problem: "it has too many branches and steps beside each other to be checked",
        beside,
        before,
      };
    const { given, due } = progressOf(plan, place) ?? { given: [], due: [] };
    const problem = due.length === 0 ? waiting(plan, place, given) : twice(plan, given);
    if (problem !== undefined) return { problem, beside, before };
    for (const name of due.toReversed()) {
      if (due.length > 1) beside.add(name);
      for (const done of place.completedSteps) before.get(name)?.add(done);
      for (const event of stepOf(plan, name)?.gives.toReversed() ?? [])
        open.push({
          completedSteps: [...place.completedSteps, name],
          answers: { ...place.answers, [name]: event },
        });
    }
  }
  return { problem: undefined, beside, before };
}

/** A path has ended: no step may have got some of its events only. */
function waiting(
  plan: FlowPlan,
  { completedSteps }: Place,
  given: readonly string[],
): BranchProblem | undefined {
  const repeated = twice(plan, given);
  if (repeated !== undefined) return repeated;
  for (const { name, takes } of plan.steps) {
    const got = takes.find((event) => given.includes(event));
    const missing = takes.find((event) => !given.includes(event));
    if (got === undefined || missing === undefined || completedSteps.includes(name)) continue;
    return `step ${name} waits for ${takes.join(" and ")}, but there is a branch with ${got} and without ${missing}, on which it would wait for ever`;
  }
  return undefined;
}

function twice(plan: FlowPlan, given: readonly string[]): BranchProblem | undefined {
  const event = given.find((one, index) => given.indexOf(one) !== index);
  const follower =
    event === undefined ? undefined : plan.steps.slice(1).find(({ takes }) => takes.includes(event));
  return (
    follower &&
    `two steps of one branch give ${event ?? ""}, so step ${follower.name}, which takes it, would begin twice`
  );
}
