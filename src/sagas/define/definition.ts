/**
 * Defines sagas. What the compiler can see of a definition is in builder.ts; whatever it cannot see is checked here, when the saga is
 * defined.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { AmendsError } from "../../core/errors.ts";
import type { Stored } from "../../core/json.ts";
import { checkName } from "../../core/identity.ts";
import type { Plan } from "../../core/saga/plan.ts";
import type { Saga } from "./builder.ts";
import type { NoResults } from "./results.ts";
import { readSagaOptions, type SagaOptions, type SagaSettings } from "./saga-options.ts";
import type { StepDefinition } from "./settings.ts";
import { isSchema } from "./signal.ts";
import { readEnd, readStalled, type StalledHook } from "./steps/end.ts";
import { readStepAndFallback } from "./steps/fallback.ts";
import { stepMethods } from "./steps/methods.ts";

/** A saga definition. Register it in `sagas` of `new Amends`, and start it with `amends.start`. */
export interface SagaDefinition<
  Input = unknown,
  Output = unknown,
  Results = unknown,
  Failure = unknown,
  Attribute extends string = string,
> {
  /** The name of the saga, under which runs are stored. */
  readonly name: string;
  /** The version of the definition. */
  readonly version: number;
  /** The schema of the input. */
  readonly schema: StandardSchemaV1<Input, Output>;
  /** The steps, in order. */
  readonly steps: readonly StepDefinition[];
  /**
   * The shape of the steps as it is stored with every saga. A saga whose stored plan no longer fits its definition
   * stalls.
   */
  readonly plan: Plan;
  /** The call that follows when the saga is stalled. */
  readonly stalled?: StalledHook | undefined;
  /** The checked options. */
  readonly settings: SagaSettings;
  /** Only for the compiler. */
  readonly types?: { readonly results: Results; readonly failure: Failure; readonly attribute: Attribute };
}

/** Any saga, whatever its types. */
export type AnySaga = SagaDefinition;

/**
 * Defines a saga by a name and a schema for its input, from any Standard Schema library. Add its steps to the result.
 * Throws `BAD_DEFINITION` if the definition is not valid.
 */
export function saga<Input, Output, const Attribute extends string = string>(
  name: string,
  schema: StandardSchemaV1<Input, Output>,
  options: SagaOptions<Attribute, Stored<Output>> = {},
): Saga<Input, Output, NoResults, never, Attribute> {
  checkName(name, "A saga's name");
  if (!isSchema(schema)) {
    throw new AmendsError(
      "BAD_DEFINITION",
      `Saga ${name} needs a schema for its input from a Standard Schema library, such as Zod, Valibot or ArkType.`,
    );
  }
  const settings = readSagaOptions(name, options);
  // The types say more than the values do: from here on only the compiler knows what each step returns.
  return build(name, settings, schema, []) as unknown as Saga<Input, Output, NoResults, never, Attribute>;
}

/** What follows the ends of a saga. */
interface Ends {
  readonly completed?: StepDefinition;
  readonly failed?: StepDefinition;
  readonly reversed?: StepDefinition;
  readonly stalled?: StalledHook;
}

function build(
  name: string,
  settings: SagaSettings,
  schema: AnySaga["schema"],
  own: readonly StepDefinition[],
  ends: Ends = {},
): AnySaga {
  const add = (more: readonly StepDefinition[]): AnySaga =>
    build(name, settings, schema, [...own, ...more], ends);
  const place = { saga: name, settings, before: own };
  const follow = (what: keyof Ends, read: () => Ends): AnySaga => {
    if (!ends[what]) return build(name, settings, schema, own, { ...ends, ...read() });
    throw new AmendsError("BAD_DEFINITION", `Saga ${name} says twice what follows when it is ${what}.`);
  };
  const steps = [
    ...own,
    ...[ends.completed, ends.failed, ends.reversed].filter((step) => step !== undefined),
  ];
  const definition = {
    name,
    version: settings.version,
    schema,
    settings,
    steps,
    stalled: ends.stalled,
    plan: steps.map((step) => step.planned),
    ...stepMethods(place, add),
    pivot: (step: string, options: unknown) =>
      add(readStepAndFallback(name, settings, own, step, options, true)),
    onCompleted: (options: unknown) =>
      follow("completed", () => ({ completed: readEnd(place, "completed", options) })),
    onFailed: (options: unknown) => follow("failed", () => ({ failed: readEnd(place, "failed", options) })),
    onReversed: (options: unknown) =>
      follow("reversed", () => ({ reversed: readEnd(place, "reversed", options) })),
    onStalled: (options: unknown) => follow("stalled", () => ({ stalled: readStalled(place, options) })),
  };
  return definition;
}
