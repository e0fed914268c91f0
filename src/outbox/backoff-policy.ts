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
