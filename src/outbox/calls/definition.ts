/** The definition of a durable call: its name, the schema of its input, and the code that makes it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkName } from "../../core/identity.ts";
import { encodeJson } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import { OUTBOX_RETRY, readRetry, type RetryOptions } from "../../core/backoff.ts";
import {
  LIMIT_OPTIONS,
  limitsOf,
  readLimits,
  type LimitOptions,
  type LimitRules,
  type Limits,
} from "../../core/start/limits.ts";

/** What a call receives besides its input. */
export interface CallContext {
  /** The idempotency key: the id of the entry, the same for every attempt. Pass it on to the system that you call. */
  readonly key: string;
  /** The number of the attempt; 1 for the first. */
  readonly attempt: number;
  /** Aborts on a timeout, on a lost claim and on shutdown. */
  readonly signal: AbortSignal;
}

/** The options of `defineCall`. */
export interface CallOptions<Schema extends StandardSchemaV1> extends LimitOptions<
  StandardSchemaV1.InferOutput<Schema>
> {
  /** The schema of the input, from any Standard Schema library. */
  readonly schema: Schema;
  /**
   * Makes the call. If it throws, it is retried on the schedule. A thrown `Terminal` and a returned `err` are not
   * retried: the call is abandoned and appears in `amends.attention`.
   */
  readonly handle: (input: StandardSchemaV1.InferOutput<Schema>, call: CallContext) => unknown;
  /** The number of attempts and the waits between them. Default: `retry` of `calls`, 8 attempts from 30s up to 1h. */
  readonly retry?: RetryOptions;
  /** A call that takes longer is aborted and counts as failed. Default: the lease of `calls`. */
  readonly timeout?: Duration;
}

/** A call, made by `defineCall(…)`. Register it in `calls` of `new Amends`. */
export interface CallDefinition<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  /** The name under which its entries are stored. Do not change it while some are open. */
  readonly name: string;
  /** The schema of the input. */
  readonly schema: Schema;
  /** Makes the call. */
  readonly handle: (input: never, call: CallContext) => unknown;
  /** Its own retry schedule; undefined if that of `calls` applies. */
  readonly retry: RetryOptions | undefined;
  /** Its own time limit in milliseconds; undefined if the lease of `calls` applies. */
  readonly timeoutMs: number | undefined;
  /** Its limits by key; undefined if it has none. */
  readonly limits: LimitRules | undefined;
}

/** Defines a durable call: a name, a schema for its input, and the code that makes it. */
export function defineCall<Schema extends StandardSchemaV1>(
  name: string,
  options: CallOptions<Schema>,
): CallDefinition<Schema> {
  checkName(name, "The name of a call");
  const where = `Call ${name}`;
  refuseUnknown(options, ["schema", "handle", "retry", "timeout", ...LIMIT_OPTIONS], where);
  const { schema, handle, retry, timeout } = options;
  const refuse = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`);
  };
  if (typeof handle !== "function") refuse("handle must be a function");
  if (typeof (schema as Partial<StandardSchemaV1> | undefined)?.["~standard"]?.validate !== "function")
    refuse("schema must be a Standard Schema (Zod, Valibot, ArkType)");
  readRetry(retry, OUTBOX_RETRY, `${where}: retry`);
  const timeoutMs = timeout === undefined ? undefined : positiveMs(timeout, `The timeout of call ${name}`);
  return { name, schema, handle, retry, timeoutMs, limits: readLimits(options, where) };
}

/** A durable call, with its input as it is stored. */
export interface EncodedCall {
  readonly name: string;
  readonly payload: string;
  readonly limits: Limits | undefined;
}

/** The call with this input, with the keys of its limits. */
export function encodeCall(call: CallDefinition, given: unknown): EncodedCall | Promise<EncodedCall> {
  const { name } = call;
  const encoded = (payload: string): EncodedCall => {
    const limits = limitsOf(call.limits, () => JSON.parse(payload) as unknown, `Call ${name}`);
    return { name, payload, limits };
  };
  const payload = encodeInput(call, given);
  return typeof payload === "string" ? encoded(payload) : payload.then(encoded);
}

/** The input as it is stored. The error names the path that does not fit, never the value. */
function encodeInput(call: CallDefinition, given: unknown): string | Promise<string> {
  const result = call.schema["~standard"].validate(given);
  return result instanceof Promise
    ? result.then((validated) => toJson(call, validated))
    : toJson(call, result);
}

function toJson(call: CallDefinition, result: StandardSchemaV1.Result<unknown>): string {
  const field = `The input of call ${call.name}`;
  if (result.issues) {
    const paths = result.issues.map(({ path }) =>
      (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join("."),
    );
    const where = paths.map((path) => (path === "" ? "(input)" : path)).join(", ");
    throw new AmendsError("BAD_INPUT", `${field} does not fit its schema at: ${where}. Nothing was written.`);
  }
  return encodeJson(result.value, { field, code: "BAD_INPUT" }) ?? "null";
}
