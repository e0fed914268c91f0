/**
 * A saga that another process runs: its name, its version and the schema of its input are enough to start it. The process
 * that starts it needs none of the acts; the first worker that claims it records the steps.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkName } from "../../core/identity.ts";
import type { Stored } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import { LIMIT_OPTIONS, type LimitOptions } from "../../core/start/limits.ts";
import type { SagaDefinition } from "./definition.ts";
import { readSagaOptions, type SagaSettings } from "./saga-options.ts";
import type { StepDefinition } from "./settings.ts";
import { isSchema } from "./signal.ts";
import type { EventWait, MatchField, OnTimeout } from "./options/wait.ts";
import { readWaitFor } from "./steps/wait.ts";

/** A saga that is started in this process and runs in another one. */
export interface SagaReference<
  Input = unknown,
  Output = unknown,
  Results = Readonly<Record<string, unknown>>,
  Failure = unknown,
  Attribute extends string = string,
> {
  /** The name of the saga. */
  readonly name: string;
  /** The version of the definition that is to run it. */
  readonly version: number;
  /** The schema of the input. */
  readonly schema: StandardSchemaV1<Input, Output>;
  /** The steps that wait for events, in their order. Workers know the others. */
  readonly waits: readonly StepDefinition[];
  /** The options, with their defaults. */
  readonly settings: SagaSettings;
  /** Only for the compiler. */
  readonly types?: { readonly results: Results; readonly failure: Failure; readonly attribute: Attribute };
  /**
   * Names a step that waits for an event, as the definition does: which event belongs to a saga is recorded when the saga is
   * started. Name all such steps, in their order.
   */
  waitFor<Data, const Field extends MatchField<Data>>(
    name: string,
    options: Pick<EventWait<Stored<Output>, Data, Field, OnTimeout>, "event" | "where" | "equals">,
  ): SagaReference<Input, Output, Results, Failure, Attribute>;
}

/** The reference to a definition, with its types: `const order: ReferenceTo<typeof orderSaga> = sagaRef("order", schema)`. */
export type ReferenceTo<Saga> =
  Saga extends SagaDefinition<infer Input, infer Output, infer Results, infer Failure, infer Attribute>
    ? SagaReference<Input, Output, Results, Failure, Attribute>
    : never;

/** The options of `sagaRef`. */
export interface SagaRefOptions<
  Attribute extends string = string,
  Input = unknown,
> extends LimitOptions<Input> {
  /** The version of the definition that is to run the saga. Default: 1. */
  readonly version?: number;
  /** The longest that the saga may take before its pivot. Default: the deadline of the definition, from the start on. */
  readonly deadline?: Duration;
  /** The names of the attributes that `start` may set, as the definition declares them. Default: any names. */
  readonly attributes?: readonly Attribute[];
}

const OPTIONS = ["version", "deadline", "attributes", ...LIMIT_OPTIONS];

/** Refers to a saga by its name, so that it can be started where its definition is not loaded. */
export function sagaRef<
  Input,
  Output,
  Results = Readonly<Record<string, unknown>>,
  Failure = unknown,
  const Attribute extends string = string,
>(
  name: string,
  schema: StandardSchemaV1<Input, Output>,
  options: SagaRefOptions<Attribute, Stored<Output>> = {},
): SagaReference<Input, Output, Results, Failure, Attribute> {
  checkName(name, "A saga's name");
  if (!isSchema(schema)) {
    throw new AmendsError(
      "BAD_DEFINITION",
      `The reference to saga ${name} needs a schema for its input from a Standard Schema library, such as Zod, Valibot or ArkType.`,
    );
  }
  refuseUnknown(options, OPTIONS, `The reference to saga ${name}`);
  return build(name, schema, readSagaOptions(name, options), []);
}

function build<Input, Output, Results, Failure, Attribute extends string>(
  name: string,
  schema: StandardSchemaV1<Input, Output>,
  settings: SagaSettings,
  waits: readonly StepDefinition[],
): SagaReference<Input, Output, Results, Failure, Attribute> {
  return {
    name,
    version: settings.version,
    schema,
    settings,
    waits,
    waitFor: (step, options) => {
      refuseUnknown(options, ["event", "where", "equals"], `The reference to saga ${name}, step ${step}`);
      const place = { saga: name, settings, before: waits };
      return build(name, schema, settings, [...waits, readWaitFor(place, step, options)]);
    },
  };
}

/** What `start` and `get` take. */
export type Startable<Input, Output, Results, Failure, Attribute extends string = string> =
  | SagaDefinition<Input, Output, Results, Failure, Attribute>
  | SagaReference<Input, Output, Results, Failure, Attribute>;

/** Any reference, whatever its types. */
export type AnyReference = SagaReference<unknown, unknown, unknown>;

export function isReference(saga: object): saga is AnyReference {
  return "waits" in saga;
}
