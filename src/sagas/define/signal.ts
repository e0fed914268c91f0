/** Signals: messages with a typed payload, sent from outside to a saga that waits for them. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { AmendsError } from "../../core/errors.ts";
import { checkName } from "../../core/identity.ts";

/** A signal, made by `signal(…)`. A saga waits for it with `waitFor`; `amends.signal` sends it. */
export interface SignalType<Name extends string = string, Input = unknown, Payload = unknown> {
  /** The name of the signal. */
  readonly name: Name;
  /** The schema of the payload. */
  readonly schema: StandardSchemaV1<Input, Payload>;
}

/** Any signal, whatever its payload. */
export type AnySignal = SignalType;

/**
 * Defines a signal by a name and a schema for its payload, from any Standard Schema library. Throws `BAD_DEFINITION` if
 * the schema is not one.
 */
export function signal<const Name extends string, Input, Payload>(
  name: Name,
  schema: StandardSchemaV1<Input, Payload>,
): SignalType<Name, Input, Payload> {
  checkName(name, "A signal's name");
  if (!isSchema(schema)) {
    throw new AmendsError(
      "BAD_DEFINITION",
      `Signal ${name} needs a schema for its payload from a Standard Schema library, such as Zod, Valibot or ArkType.`,
    );
  }
  return { name, schema };
}

export function isSchema(schema: unknown): schema is StandardSchemaV1 {
  return typeof (schema as Partial<StandardSchemaV1> | undefined)?.["~standard"]?.validate === "function";
}
