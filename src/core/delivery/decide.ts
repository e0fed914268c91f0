/**
 * What a delivery does next: pure, with durations instead of instants, so that the database's clock adds the rest. The
 * limit counts every attempt, and is reached at ≥: a delivery at its limit would otherwise wait for ever.
 */
import { delayMs, spread, type Backoff } from "../backoff.ts";
import type { DeliveryStatus } from "./machine.ts";

/** What a job came to, as whoever carried it out tells it. */
export interface JobResult {
  readonly ok: boolean;
  /** A stable label: `http_503`, `connect_timeout`, `lease_expired`. */
  readonly code: string;
  /** Trying again cannot help: the receiver is gone, the subscription was deleted. */
  readonly final?: boolean | undefined;
  /** The receiver asked for so much time. */
  readonly retryAfterMs?: number | undefined;
}

export interface DeliveryPolicy {
  readonly backoff: Backoff;
  /** How far apart deliveries that would wake together are spread: 0.2 moves each by up to a tenth. */
  readonly spreadRatio: number;
  /** A receiver cannot put a delivery off for longer than this. */
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

/** What one new job result means for its delivery. */
export function decide(delivery: DeliverySoFar, result: JobResult, policy: DeliveryPolicy): Decision {
  if (result.ok) return { event: "succeed" };
  const attempts = delivery.attemptCount + 1;
  const error = result.code;
  if (result.final || attempts >= delivery.attemptMax) return { event: "exhaust", error };
  return { event: "fail", error, waitMs: waitMs(delivery.id, attempts, result.retryAfterMs ?? 0, policy) };
}

/** The same delivery and attempt always wait equally long, unless the receiver asked for more. */
function waitMs(id: string, attempts: number, retryAfterMs: number, policy: DeliveryPolicy): number {
  const scheduled = spread(delayMs(policy.backoff, attempts), id, attempts, policy.spreadRatio);
  return Math.max(scheduled, Math.min(retryAfterMs, policy.retryAfterMaxMs));
}

export interface WaitingDelivery {
  readonly status: DeliveryStatus;
  readonly attemptCount: number;
  readonly attemptMax: number;
  /** Its time has come. */
  readonly due: boolean;
  readonly hasActiveJob: boolean;
}

/** May a delivery get its next job? `exhaust` where its limit was lowered while it waited. */
export function nextJob(delivery: WaitingDelivery): "createJob" | "exhaust" | "wait" {
  const { status, attemptCount, attemptMax, due, hasActiveJob } = delivery;
  if (hasActiveJob || !due) return "wait";
  switch (status) {
    case "Pending":
      return "createJob";
    case "PendingRetry":
      return attemptCount < attemptMax ? "createJob" : "exhaust";
    default: // it is under way, or has ended
      return "wait";
  }
}
