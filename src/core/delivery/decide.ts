/**
 * The next state of a delivery. Pure: returns durations, which the database adds to its own clock. The limit counts
 * every attempt and is compared with ≥, so that a delivery at its limit does not wait forever.
 */
import { delayMs, spread, type Backoff } from "../backoff.ts";
import type { DeliveryStatus } from "./machine.ts";

/** The outcome of a job, as the sender reports it. */
export interface JobResult {
  readonly ok: boolean;
  /** `http_<status>`, a code of error-code.ts, or the label of a sender of the user's own. */
  readonly code: string;
  /** A retry cannot succeed: the delivery is dead-lettered at once. It says nothing about other deliveries. */
  readonly final?: boolean | undefined;
  /** The receiver is gone for good (410): its subscription is disabled. */
  readonly gone?: boolean | undefined;
  /** The wait that the receiver asked for. */
  readonly retryAfterMs?: number | undefined;
}

export interface DeliveryPolicy {
  readonly backoff: Backoff;
  /** Jitter of the delay: 0.2 moves each delay by up to ±10%. */
  readonly spreadRatio: number;
  /** The longest wait that a receiver can ask for. */
  readonly retryAfterMaxMs: number;
}

export interface DeliverySoFar {
  readonly id: string;
  readonly attemptCount: number;
  readonly attemptMax: number;
}

export type Decision =
  | { readonly event: "succeed" }
  | { readonly event: "fail"; readonly error: string; readonly waitMs: number }
  | { readonly event: "exhaust"; readonly error: string };

/** The effect of one new job result on its delivery. */
export function decide(delivery: DeliverySoFar, result: JobResult, policy: DeliveryPolicy): Decision {
  if (result.ok) return { event: "succeed" };
  const attempts = delivery.attemptCount + 1;
  const error = result.code;
  if (result.final || attempts >= delivery.attemptMax) return { event: "exhaust", error };
  return { event: "fail", error, waitMs: waitMs(delivery.id, attempts, result.retryAfterMs ?? 0, policy) };
}

/** The delay is the same for the same delivery and attempt, unless the receiver asked for more. */
function waitMs(id: string, attempts: number, retryAfterMs: number, policy: DeliveryPolicy): number {
  const scheduled = spread(delayMs(policy.backoff, attempts), id, attempts, policy.spreadRatio);
  return Math.max(scheduled, Math.min(retryAfterMs, policy.retryAfterMaxMs));
}

export interface WaitingDelivery {
  readonly status: DeliveryStatus;
  readonly attemptCount: number;
  readonly attemptMax: number;
  /** The delivery is due. */
  readonly due: boolean;
  readonly hasActiveJob: boolean;
}

/** Decides whether a delivery gets its next job. `exhaust` if its limit was lowered while it waited. */
export function nextJob(delivery: WaitingDelivery): "createJob" | "exhaust" | "wait" {
  const { status, attemptCount, attemptMax, due, hasActiveJob } = delivery;
  if (hasActiveJob || !due) return "wait";
  switch (status) {
    case "Pending":
      return "createJob";
    case "PendingRetry":
      return attemptCount < attemptMax ? "createJob" : "exhaust";
    default: // already in progress, or ended
      return "wait";
  }
}
