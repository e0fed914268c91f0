/** The schedule of retries, the same for the same entry always, and how long a claim protects it. */
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

export interface BackoffOptions {
  /** After the first failed attempt; it doubles with each. 30 seconds unless said otherwise. */
  readonly baseDelay?: Duration;
  /** Never longer than this. 1 hour unless said otherwise. */
  readonly maxDelay?: Duration;
  /** How long a claim lasts unless it is renewed. 5 minutes unless said otherwise. */
  readonly lease?: Duration;
}

/** The same in the words of every other part, for the options that take a schedule. */
export interface BackoffSettings {
  /** After the first failed attempt; it doubles with each. 30 seconds unless said otherwise. */
  readonly base?: Duration;
  /** Never longer than this. 1 hour unless said otherwise. */
  readonly cap?: Duration;
  /** How long a claim lasts unless it is renewed. 5 minutes unless said otherwise. */
  readonly lease?: Duration;
}

export class BackoffPolicy {
  readonly schedule: Backoff;
  readonly leaseMs: number;

  constructor(options: BackoffOptions = {}) {
    refuseUnknown(options, ["baseDelay", "maxDelay", "lease"], "A BackoffPolicy");
    const {
      baseDelay = DEFAULT_BACKOFF.baseMs,
      maxDelay = DEFAULT_BACKOFF.capMs,
      lease = DEFAULT_LEASE_MS,
    } = options;
    this.schedule = checkBackoff(
      { baseMs: durationMs(baseDelay, "baseDelay"), capMs: durationMs(maxDelay, "maxDelay"), factor: 2 },
      "A BackoffPolicy",
    );
    this.leaseMs = checkLease(durationMs(lease, "lease"), "lease");
  }

  /** Milliseconds to wait after the n-th attempt: min(baseDelay · 2^(n−1), maxDelay). */
  delay(attempts: number): number {
    return delayMs(this.schedule, attempts);
  }
}

/** A policy out of what an option `backoff` was given. Whatever is neither is refused here, before it is used as one. */
export function policyOf(given: BackoffPolicy | BackoffSettings | undefined, where: string): BackoffPolicy {
  if (given instanceof BackoffPolicy) return given;
  const settings = given ?? {};
  refuseUnknown(settings, ["base", "cap", "lease"], `${where}: backoff`);
  const { base, cap, lease } = settings;
  return new BackoffPolicy({
    ...(base !== undefined && { baseDelay: base }),
    ...(cap !== undefined && { maxDelay: cap }),
    ...(lease !== undefined && { lease }),
  });
}
