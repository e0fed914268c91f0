/** The options of a saga, and what the engine works with. */
import { ACT_RETRY, readRetry, type RetryOptions, type RetryPolicy } from "../../core/backoff.ts";
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import { declaredAttributes } from "../../core/start/attributes.ts";
import { LIMIT_OPTIONS, readLimits, type LimitOptions, type LimitRules } from "../../core/start/limits.ts";

/** The options of `saga`. */
export interface SagaOptions<Attribute extends string = string, Input = unknown> extends LimitOptions<Input> {
  /**
   * The version of the definition. A saga keeps the version that it started with: register old and new versions
   * together until the old sagas have ended. Default: 1.
   */
  readonly version?: number;
  /** How long the saga may take until its pivot: after that it compensates. Default: none. */
  readonly deadline?: Duration;
  /** The retry schedule of acts without one of their own. Default: 8 attempts, from 1s up to 1h. */
  readonly retry?: RetryOptions;
  /** The retry schedule of compensations without one of their own. Default: 8 attempts, from 1s up to 1h. */
  readonly compensateRetry?: RetryOptions;
  /** How often the saga may lose its worker without making progress before it stalls. Default: 5. */
  readonly recoveries?: number;
  /**
   * Also stores the messages of thrown errors, which may hold personal data. Default: `keepMessages` of `new Amends`.
   */
  readonly keepMessages?: boolean;
  /**
   * The names of the attributes that `start` may set, at most 16, to find sagas by. Other names do not compile, and are refused.
   * Default: any names.
   */
  readonly attributes?: readonly Attribute[];
}

export interface SagaSettings {
  readonly version: number;
  readonly deadlineMs: number | undefined;
  readonly retry: RetryPolicy;
  readonly compensateRetry: RetryPolicy;
  readonly recoveryMax: number;
  /** Undefined: as `new Amends` says. */
  readonly keepMessages: boolean | undefined;
  /** Undefined: attributes may have any names. */
  readonly attributes: readonly string[] | undefined;
  /** Undefined: none. */
  readonly limits: LimitRules | undefined;
}

const SAGA_OPTIONS = [
  "version",
  "deadline",
  "retry",
  "compensateRetry",
  "recoveries",
  "keepMessages",
  "attributes",
  ...LIMIT_OPTIONS,
];

export function readSagaOptions(name: string, options: SagaOptions<string, never>): SagaSettings {
  const where = `Saga ${name}`;
  refuseUnknown(options, SAGA_OPTIONS, where);
  const { version = 1, recoveries = 5 } = options;
  whole(version, 1, `${where}: version`);
  whole(recoveries, 1, `${where}: recoveries`);
  return {
    version,
    recoveryMax: recoveries,
    deadlineMs: optionalMs(options.deadline, `${where}: deadline`),
    retry: readRetry(options.retry, ACT_RETRY, `${where}: retry`),
    compensateRetry: readRetry(options.compensateRetry, ACT_RETRY, `${where}: compensateRetry`),
    keepMessages: options.keepMessages,
    attributes: options.attributes && declaredAttributes(options.attributes, where),
    limits: readLimits(options, where),
  };
}

export function whole(value: number, least: number, field: string): number {
  if (!Number.isInteger(value) || value < least) {
    throw new AmendsError("BAD_DEFINITION", `${field} must be a whole number, ${least} or more.`);
  }
  return value;
}

export function optionalMs(value: Duration | undefined, field: string): number | undefined {
  return value === undefined ? undefined : positiveMs(value, field);
}
