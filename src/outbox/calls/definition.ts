/** What a durable call of the user's own is: its name, what it takes, and the code that makes it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkName } from "../../core/identity.ts";
import { encodeJson } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import { OUTBOX_RETRY, readRetry, type RetryOptions } from "../../core/backoff.ts";

/** What the code of a call gets beside its input. */
export interface CallContext {
  /** The entry's id, the same for every try: pass it on as the idempotency key. */
  readonly key: string;
  /** The number of this try. The first one is 1. */
  readonly attempt: number;
  /** Fires when the call's time is over, when its claim was lost, and when the worker shuts down. */
  readonly signal: AbortSignal;
}

/** The options of `defineCall`. */
export interface CallOptions<Schema extends StandardSchemaV1> {
  /** What the call takes, from any Standard Schema library. */
  readonly schema: Schema;
  /**
   * Makes the call. If it throws, it is tried again on the schedule. A thrown `Terminal` and a returned `err` are not
   * tried again: the call is abandoned and shows up in `amends.attention`.
   */
  readonly handle: (input: StandardSchemaV1.InferOutput<Schema>, call: CallContext) => unknown;
  /** How often the call is tried, and how long the waits are. Default: that of `calls`, 8 tries from 30s up to 1h. */
  readonly retry?: RetryOptions;
  /** A call that takes longer is told to stop, and the try counts as failed. Default: the lease of `calls`. */
  readonly timeout?: Duration;
}

/** A call as `new Amends({ calls })` knows it. */
export interface CallDefinition<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  /** The name under which its entries are stored. Do not change it while some are open. */
  readonly name: string;
  /** What the call takes. */
  readonly schema: Schema;
  /** Makes the call. */
  readonly handle: (input: never, call: CallContext) => unknown;
  /** The retries of its own. */
  readonly retry: RetryOptions | undefined;
  /** The time limit of its own, in milliseconds. */
  readonly timeoutMs: number | undefined;
}

/** Defines a durable call: a name, a schema for its input, and the code that makes it. */
export function defineCall<Schema extends StandardSchemaV1>(
  name: string,
  options: CallOptions<Schema>,
): CallDefinition<Schema> {
  checkName(name, "The name of a call");
  const where = `Call ${name}`;
  refuseUnknown(options, ["schema", "handle", "retry", "timeout"], where);
  const { schema, handle, retry, timeout } = options;
  const refuse = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`);
  };
  if (typeof handle !== "function") refuse("handle must be a function");
  if (typeof (schema as Partial<StandardSchemaV1> | undefined)?.["~standard"]?.validate !== "function")
    refuse("schema must be a Standard Schema (Zod, Valibot, ArkType)");
  readRetry(retry, OUTBOX_RETRY, `${where}: retry`);
  const timeoutMs = timeout === undefined ? undefined : positiveMs(timeout, `The timeout of call ${name}`);
  return { name, schema, handle, retry, timeoutMs };
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
