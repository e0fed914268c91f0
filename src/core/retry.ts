/**
 * How often a call is made again after it has thrown, and how long the wait before each try is. Every part reads the
 * same three settings: `attempts`, `base` and `cap`. Only the defaults differ.
 */
import { checkBackoff, DEFAULT_BACKOFF, type Backoff } from "./backoff.ts";
import { positiveMs, type Duration } from "./duration.ts";
import { AmendsError, type ErrorCode } from "./errors.ts";
import { refuseUnknown } from "./options.ts";

/** How often a call is tried when it throws, and how long the waits in between are. */
export interface RetryOptions {
  /** All tries, the first one included. Default: 8. Webhooks: 20. */
  readonly attempts?: number;
  /** The wait after the first failure. Default: 1s for acts, undos and event handlers, 30s for everything else. */
  readonly base?: Duration;
  /** The longest wait. Default: 1h. */
  readonly cap?: Duration;
  /** The factor by which each wait is longer than the one before. Default: 2. */
  readonly factor?: number;
}

/** A checked schedule with its number of tries. */
export interface RetryPolicy extends Backoff {
  /** All tries, the first one included. */
  readonly attemptMax: number;
}

/** Acts, undos and event handlers: the first retry comes soon, because most trouble is short. */
export const ACT_RETRY: RetryPolicy = { ...DEFAULT_BACKOFF, baseMs: 1_000, attemptMax: 8 };

/** Calls and erasures that leave through the outbox: the other side gets time to recover. */
export const OUTBOX_RETRY: RetryPolicy = { ...DEFAULT_BACKOFF, attemptMax: 8 };

/** A schedule out of an option `retry`; what it leaves out comes from `fallback`. */
export function readRetry(
  given: RetryOptions | undefined,
  fallback: RetryPolicy,
  field: string,
  code: ErrorCode = "BAD_DEFINITION",
): RetryPolicy {
  if (given === undefined) return fallback;
  refuseUnknown(given, ["attempts", "base", "cap", "factor"], field);
  const { attempts = fallback.attemptMax, factor = fallback.factor } = given;
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw new AmendsError(code, `${field}.attempts must be a whole number, 1 or more.`);
  }
  const baseMs = given.base === undefined ? fallback.baseMs : positiveMs(given.base, `${field}.base`);
  // A long base without a cap is not cut down to the default cap.
  const capMs =
    given.cap === undefined ? Math.max(fallback.capMs, baseMs) : positiveMs(given.cap, `${field}.cap`);
  checkBackoff({ baseMs, capMs, factor }, field);
  return { attemptMax: attempts, baseMs, capMs, factor };
}
