/** The retry schedule, without jitter, and the length of a lease. */
import {
  checkBackoff,
  checkLease,
  DEFAULT_BACKOFF,
  DEFAULT_LEASE_MS,
  delayMs,
  type Backoff,
} from "../core/backoff.ts";
import { durationMs, type Duration } from "../core/duration.ts";
import { refuseUnknown } from "../core/options.ts";

/** The options of `new BackoffPolicy`. */
export interface BackoffOptions {
  /** The wait after the first failed attempt. Default: 30s. */
  readonly baseDelay?: Duration;
  /** The longest wait. Default: 1h. */
  readonly maxDelay?: Duration;
  /** The factor by which each wait is longer than the one before. Default: 2. */
  readonly factor?: number;
  /** How long a claim is valid without renewal. Default: 5m. */
  readonly lease?: Duration;
}

/** The same settings with the names of `retry`, for the option `backoff` of a `SagaRunner`. */
export interface BackoffSettings {
  /** The wait after the first failed attempt. Default: 30s. */
  readonly base?: Duration;
  /** The longest wait. Default: 1h. */
  readonly cap?: Duration;
  /** The factor by which each wait is longer than the one before. Default: 2. */
  readonly factor?: number;
  /** How long a claim is valid without renewal. Default: 5m. */
  readonly lease?: Duration;
}

/** When a failed call is retried, and how long a claim is valid. */
export class BackoffPolicy {
  /** The checked schedule. */
  readonly schedule: Backoff;
  /** How long a claim is valid without renewal, in milliseconds. */
  readonly leaseMs: number;

  constructor(options: BackoffOptions = {}) {
    refuseUnknown(options, ["baseDelay", "maxDelay", "factor", "lease"], "A BackoffPolicy");
    const {
      baseDelay = DEFAULT_BACKOFF.baseMs,
      maxDelay = DEFAULT_BACKOFF.capMs,
      factor = DEFAULT_BACKOFF.factor,
      lease = DEFAULT_LEASE_MS,
    } = options;
    this.schedule = checkBackoff(
      { baseMs: durationMs(baseDelay, "baseDelay"), capMs: durationMs(maxDelay, "maxDelay"), factor },
      "A BackoffPolicy",
    );
    this.leaseMs = checkLease(durationMs(lease, "lease"), "lease");
  }

  /** Milliseconds to wait after the n-th attempt: min(baseDelay · factor^(n−1), maxDelay). */
  delay(attempts: number): number {
    return delayMs(this.schedule, attempts);
  }
}

/** The policy of an option `backoff`. Throws if the option is not valid. */
export function policyOf(given: BackoffPolicy | BackoffSettings | undefined, where: string): BackoffPolicy {
  if (given instanceof BackoffPolicy) return given;
  const settings = given ?? {};
  refuseUnknown(settings, ["base", "cap", "factor", "lease"], `${where}: backoff`);
  const { base, cap, factor, lease } = settings;
  return new BackoffPolicy({
    ...(base !== undefined && { baseDelay: base }),
    ...(cap !== undefined && { maxDelay: cap }),
    ...(factor !== undefined && { factor }),
    ...(lease !== undefined && { lease }),
  });
}
