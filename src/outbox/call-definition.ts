/** What a durable call of the user's own is: its name, what it takes, and the code that makes it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { checkName } from "../core/identity.ts";
import { encodeJson } from "../core/json.ts";
import { refuseUnknown } from "../core/options.ts";

export interface CallContext {
  /** The entry's id: pass it on as the idempotency key. */
  readonly key: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Fires when nobody waits for the answer any longer. */
  readonly signal: AbortSignal;
}

export interface CallOptions<Schema extends StandardSchemaV1> {
  readonly schema: Schema;
  /**
   * Makes the call. What it throws is tried again on the schedule; a thrown `Terminal` or a returned `err` is not, and
   * a person is told.
   */
  readonly handle: (input: StandardSchemaV1.InferOutput<Schema>, call: CallContext) => unknown;
  /** 8 unless said otherwise. */
  readonly maxAttempts?: number;
  /** A call that takes longer is told to stop, and counts as failed. As long as the lease unless said otherwise. */
  readonly timeout?: Duration;
}

export interface CallDefinition<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  readonly name: string;
  readonly schema: Schema;
  readonly handle: (input: never, call: CallContext) => unknown;
  readonly attemptMax: number;
  readonly timeoutMs: number | undefined;
}

export function defineCall<Schema extends StandardSchemaV1>(
  name: string,
  options: CallOptions<Schema>,
): CallDefinition<Schema> {
  checkName(name, "The name of a call");
  const where = `Call ${name}`;
  refuseUnknown(options, ["schema", "handle", "maxAttempts", "timeout"], where);
  const { schema, handle, maxAttempts = 8, timeout } = options;
  const refuse = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`);
  };
  if (typeof handle !== "function") refuse("handle must be a function");
  if (typeof (schema as Partial<StandardSchemaV1> | undefined)?.["~standard"]?.validate !== "function")
    refuse("schema must be a Standard Schema (Zod, Valibot, ArkType)");
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1)
    refuse("maxAttempts must be a whole number, 1 or more");
  const timeoutMs = timeout === undefined ? undefined : positiveMs(timeout, `The timeout of call ${name}`);
  return { name, schema, handle, attemptMax: maxAttempts, timeoutMs };
}

/** The input as it is stored. Says where it does not fit, never what was there. */
export async function encodeInput(call: CallDefinition, given: unknown): Promise<string> {
  const field = `The input of call ${call.name}`;
  const result = await call.schema["~standard"].validate(given);
  if (result.issues) {
    const paths = result.issues.map(({ path }) =>
      (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join("."),
    );
    const where = paths.map((path) => (path === "" ? "(input)" : path)).join(", ");
    throw new AmendsError("BAD_INPUT", `${field} does not fit its schema at: ${where}. Nothing was written.`);
  }
  return encodeJson(result.value, { field, code: "BAD_INPUT" }) ?? "null";
}
