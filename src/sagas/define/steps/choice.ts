/** Reads a choice between two branches, and the steps of the branches. */
import { AmendsError } from "../../../core/errors.ts";
import type { Branch } from "../../../core/saga/steps/branch.ts";
import { andThen, recorded, unfit } from "../own-outcome.ts";
import { checkPlace, quietStep, type Place, type StepDefinition } from "../settings.ts";
import type { StepMethods } from "./methods.ts";

type Methods = <Built extends object>(
  place: Place,
  add: (steps: readonly StepDefinition[]) => Built,
) => StepMethods<Built>;

/** The choice, then the steps of its branches. `methods` adds steps to a branch. */
export function readWhen(
  place: Place,
  name: string,
  predicate: unknown,
  branches: readonly [then: unknown, otherwise: unknown],
  methods: Methods,
): readonly StepDefinition[] {
  checkPlace(place.saga, place.before, name);
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `Saga ${place.saga}, choice ${name}: ${why}.`, {
      saga: place.saga,
      step: name,
    });
  };
  if (typeof predicate !== "function")
    return bad("its question must be a function that returns true or false");
  const ask = predicate as (context: unknown) => unknown;
  const choice: StepDefinition = {
    ...quietStep(place, name, { choice: true }),
    act: (context: never) => andThen(ask(context), answered),
  };
  const [then, otherwise] = branches;
  const first = readBranch(within(place, [choice]), { choice: name, when: true }, then, methods, bad);
  if (otherwise === undefined) return [choice, ...first];
  const inner = within(place, [choice, ...first]);
  return [choice, ...first, ...readBranch(inner, { choice: name, when: false }, otherwise, methods, bad)];
}

function answered(answer: unknown): unknown {
  return typeof answer === "boolean" ? recorded(String(answer)) : unfit("AnswerNotBoolean");
}

function within(place: Place, more: readonly StepDefinition[]): Place {
  return { ...place, before: [...place.before, ...more] };
}

function readBranch(
  place: Place,
  branch: Branch,
  build: unknown,
  methods: Methods,
  bad: (why: string) => never,
): readonly StepDefinition[] {
  if (typeof build !== "function") return bad("give it a function that adds the steps of a branch");
  const made = new WeakMap<object, readonly StepDefinition[]>();
  const branchOf = (steps: readonly StepDefinition[]): object => {
    const self = {
      ...methods(within(place, steps), (more): object =>
        branchOf([...steps, ...more.map((step) => inBranch(step, branch))]),
      ),
      pivot: () => bad("the pivot cannot stand in a branch: put it before or after the choice"),
    };
    made.set(self, steps);
    return self;
  };
  const returned: unknown = (build as (branch: object) => unknown)(branchOf([]));
  const steps = typeof returned === "object" && returned !== null ? made.get(returned) : undefined;
  if (!steps) return bad("the function of a branch must return the branch: `(branch) => branch.step(…)`");
  return steps.length > 0 ? steps : bad("a branch has no steps");
}

/** A step of a choice inside of the branch belongs to a branch of that choice. */
function inBranch(step: StepDefinition, branch: Branch): StepDefinition {
  return step.planned.branch ? step : { ...step, planned: { ...step.planned, branch } };
}
