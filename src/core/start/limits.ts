/**
 * Limits by key: how much work of one key may run at the same time, and how much of it may begin within a period. The key follows
 * from the input, and is stored with the limit when the work is recorded.
 */
import { durationMs, type Duration } from "../duration.ts";
import { AmendsError, errorLabel } from "../errors.ts";
import { isWellFormed } from "../identity.ts";
import { refuseUnknown } from "../options.ts";

/** How much work of one key may run at the same time. */
export interface ConcurrencyLimit<Input = unknown> {
  /**
   * The key that an input belongs to, such as a tenant: a text of 1 to 255 characters. A function that always returns the same text
   * makes one limit for all.
   */
  readonly key: (input: Input) => string;
  /** How many of one key may run at the same time, over all workers. */
  readonly limit: number;
}

/** How much work of one key may begin within a period. */
export interface RateLimit<Input = unknown> extends ConcurrencyLimit<Input> {
  /** How many of one key may begin within any period of the length `per`, over all workers. */
  readonly limit: number;
  /** The length of the period, at most 366 days. */
  readonly per: Duration;
}

/** Limits by key of a saga or a call. */
export interface LimitOptions<Input = unknown> {
  /** How many of one key run at the same time. Others wait for a place, without a slot. Default: no limit. */
  readonly concurrency?: ConcurrencyLimit<Input>;
  /** How many of one key begin within a period. Others wait until the period allows it. Default: no limit. */
  readonly rate?: RateLimit<Input>;
}

/** The limits of one saga or call, as its row has them. */
export interface Limits {
  readonly concurrency?: KeyedLimit | undefined;
  readonly rate?: (KeyedLimit & { readonly perMs: number }) | undefined;
}

export interface KeyedLimit {
  readonly key: string;
  readonly limit: number;
}

/** The checked options. */
export interface LimitRules {
  readonly concurrency?: Rule | undefined;
  readonly rate?: (Rule & { readonly perMs: number }) | undefined;
}

interface Rule {
  readonly key: (input: never) => unknown;
  readonly limit: number;
}

/** The names of these options. */
export const LIMIT_OPTIONS: readonly string[] = ["concurrency", "rate"];

const LIMIT_MAX = 1_000_000;
const PER_MAX_MS = 366 * 86_400_000;
const KEY_MAX = 255;

/** Undefined if there are none. */
export function readLimits(
  { concurrency, rate }: LimitOptions<never>,
  where: string,
): LimitRules | undefined {
  if (concurrency === undefined && rate === undefined) return undefined;
  const perMs = rate && readRule(rate, ["key", "limit", "per"], `${where}: rate`) && readPer(rate.per, where);
  if (concurrency !== undefined) readRule(concurrency, ["key", "limit"], `${where}: concurrency`);
  return {
    ...(concurrency && { concurrency: { key: concurrency.key, limit: concurrency.limit } }),
    ...(rate && { rate: { key: rate.key, limit: rate.limit, perMs: perMs as number } }),
  };
}

function readRule(given: ConcurrencyLimit<never>, known: readonly string[], where: string): true {
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where} ${why}.`);
  };
  if (typeof given !== "object" || given === null) return bad(`must be an object of ${known.join(", ")}`);
  refuseUnknown(given, known, where);
  if (typeof given.key !== "function") bad("needs `key`, a function that returns the key of an input");
  if (!Number.isInteger(given.limit) || given.limit < 1 || given.limit > LIMIT_MAX)
    bad(`needs \`limit\`, a whole number from 1 to ${LIMIT_MAX}`);
  return true;
}

function readPer(given: Duration, where: string): number {
  const perMs = durationMs(given, `${where}: rate: \`per\``);
  if (perMs >= 1 && perMs <= PER_MAX_MS) return perMs;
  throw new AmendsError("BAD_DEFINITION", `${where}: rate: \`per\` must be from 1ms to 366d.`);
}

/** The limits of the work that this input begins. `where` names it in errors. */
export function limitsOf(
  rules: LimitRules | undefined,
  input: () => unknown,
  where: string,
): Limits | undefined {
  if (!rules) return undefined;
  const { concurrency, rate } = rules;
  const keyed = ({ key, limit }: Rule, what: string): KeyedLimit => ({
    key: keyOf(key, input(), `${where}: the key of \`${what}\``),
    limit,
  });
  return {
    ...(concurrency && { concurrency: keyed(concurrency, "concurrency") }),
    ...(rate && { rate: { ...keyed(rate, "rate"), perMs: rate.perMs } }),
  };
}

function keyOf(key: Rule["key"], input: unknown, where: string): string {
  let found: unknown;
  try {
    found = key(input as never);
  } catch (error) {
    throw refused(`${where} threw ${errorLabel(error)} for this input`, error);
  }
  const isKey = (text: string): boolean =>
    text.length >= 1 && text.length <= KEY_MAX && !text.includes("\0") && isWellFormed(text);
  if (typeof found === "string" && isKey(found)) return found;
  throw refused(`${where} must be a well-formed text of 1 to ${KEY_MAX} characters without NUL`);
}

function refused(why: string, cause?: unknown): AmendsError {
  return new AmendsError("BAD_INPUT", `${why}. Nothing was written.`, {}, { cause });
}
