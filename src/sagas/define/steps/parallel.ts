/** Reads a group of steps that act at the same time, and refuses what cannot stand in one. */
import { AmendsError } from "../../../core/errors.ts";
import { refuseUnknown } from "../../../core/options.ts";
import type { Group } from "../../../core/saga/steps/group.ts";
import type { ParallelOptions } from "../options/parallel.ts";
import { whole } from "../saga-options.ts";
import { checkPlace, readStep, type Place, type StepDefinition } from "../settings.ts";

/** What users of plain JavaScript may try, and why it is refused: the compiler does not know these in a group. */
const REFUSED: Readonly<Record<string, string>> = {
  pivot:
    "the pivot cannot stand in a group: nothing would go only forward while the rest may still turn back",
  sleep: "a sleep cannot stand in a group: put it before or after",
  waitFor: "a wait cannot stand in a group: put it before or after",
  parallel: "a group cannot stand in a group: put its steps into the outer one",
};

export function readParallel(
  place: Place,
  groupName: string,
  build: unknown,
  options: ParallelOptions = {},
): readonly StepDefinition[] {
  const { saga, settings, before } = place;
  const name = checkPlace(saga, before, groupName);
  const where = `Saga ${saga}, group ${name}`;
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`, { saga, group: name });
  };
  refuseUnknown(options, ["concurrency"], where);
  const { concurrency } = options;
  const limit = concurrency === undefined ? undefined : whole(concurrency, 1, `${where}: concurrency`);
  const group: Group = { name, ...(limit !== undefined && { limit }) };
  if (typeof build !== "function") return bad("give it a function that adds its steps");

  const made = new WeakMap<object, readonly StepDefinition[]>();
  const groupOf = (steps: readonly StepDefinition[]): object => {
    const add = (stepName: string, given: unknown): object => {
      if (stepName === name) bad("a step cannot have the name of its group");
      if (typeof given === "object" && given !== null && "fallback" in given)
        bad(`step ${stepName} cannot have a fallback: put it before or after the group`);
      const step = readStep(saga, settings, [...before, ...steps], stepName, given, false);
      if (step.transaction)
        bad(`step ${step.name} cannot be transactional: put it before or after the group`);
      return groupOf([...steps, { ...step, planned: { ...step.planned, group } }]);
    };
    const self: Record<string, unknown> = { step: add };
    for (const [method, why] of Object.entries(REFUSED)) self[method] = () => bad(why);
    made.set(self, steps);
    return self;
  };
  const returned: unknown = (build as (group: object) => unknown)(groupOf([]));
  const steps = typeof returned === "object" && returned !== null ? made.get(returned) : undefined;
  if (!steps) return bad("its function must return the group: `(group) => group.step(…).step(…)`");
  return steps.length > 0 ? steps : bad("it has no steps");
}
