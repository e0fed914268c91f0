/**
 * The retry schedule of every part: the delay after the n-th attempt is min(base · factor^(n−1), cap). Jitter is
 * deterministic: where many rows would wake together, `spread` moves each by an amount derived from the row and the
 * attempt. Every part reads its schedule from the same setting, `retry: { attempts, base, cap }`; only the defaults
 * differ.
 */
import { positiveMs, type Duration } from "./duration.ts";
import { AmendsError, type ErrorCode } from "./errors.ts";
import { refuseUnknown } from "./options.ts";

export interface Backoff {
  /** The wait after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** The longest wait, in milliseconds. */
  readonly capMs: number;
  /** The factor by which each wait is longer than the one before. */
  readonly factor: number;
}

export const DEFAULT_BACKOFF: Backoff = { baseMs: 30_000, capMs: 3_600_000, factor: 2 };

/** The default lease of a claim. */
export const DEFAULT_LEASE_MS = 300_000;

export function checkBackoff(policy: Backoff, field: string): Backoff {
  const { baseMs, capMs, factor } = policy;
  if (!(baseMs > 0)) throw new AmendsError("BAD_POLICY", `${field}: base must be longer than zero.`);
  if (!(capMs >= baseMs)) throw new AmendsError("BAD_POLICY", `${field}: cap must not be shorter than base.`);
  if (!(factor >= 1)) throw new AmendsError("BAD_POLICY", `${field}: factor must be 1 or more.`);
  return policy;
}

export function checkLease(leaseMs: number, field: string): number {
  if (!(leaseMs > 0)) throw new AmendsError("BAD_POLICY", `${field} must be longer than zero.`);
  return leaseMs;
}

export function delayMs(policy: Backoff, attempt: number): number {
  if (!Number.isInteger(attempt) || attempt < 1) {
    throw new AmendsError("BAD_POLICY", `The schedule begins with attempt 1, not ${String(attempt)}.`);
  }
  // Beyond 2^1000 the power is Infinity, which min() turns into the cap.
  return Math.min(policy.baseMs * policy.factor ** (attempt - 1), policy.capMs);
}

/** The number of attempts of a call that throws, and the waits between attempts. */
export interface RetryOptions {
  /** The number of attempts, the first one included. Default: 8. Webhooks: 20. */
  readonly attempts?: number;
  /** The wait after the first failure. Default: 1s for acts, undos and event handlers, 30s for everything else. */
  readonly base?: Duration;
  /** The longest wait. Default: 1h. */
  readonly cap?: Duration;
  /** The factor by which each wait is longer than the one before. Default: 2. */
  readonly factor?: number;
}

/** A checked schedule with its number of attempts. */
export interface RetryPolicy extends Backoff {
  /** The number of attempts, the first one included. */
  readonly attemptMax: number;
}

/** Acts, undos and event handlers: the first retry comes soon, because most failures are short. */
export const ACT_RETRY: RetryPolicy = { ...DEFAULT_BACKOFF, baseMs: 1_000, attemptMax: 8 };

/** Calls and erasures that leave through the outbox: the other side gets time to recover. */
export const OUTBOX_RETRY: RetryPolicy = { ...DEFAULT_BACKOFF, attemptMax: 8 };

/** The schedule of an option `retry`; missing values come from `fallback`. */
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

/** A delay moved by up to ±ratio/2, derived from the row and the attempt alone. */
export function spread(delay: number, id: string, attempt: number, ratio: number): number {
  return Math.round(delay * (1 + ratio * (hash01(`${id}#${attempt}`) - 0.5)));
}

/** FNV-1a with a final mix, as a number in [0, 1). */
export function hash01(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
