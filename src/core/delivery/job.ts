/** The words that orchestrator, job layer and worker share: none of them reaches into another. */
import type { JobResult } from "./decide.ts";

/** A job under a lease: one try of one delivery. */
export interface LeasedJob {
  readonly id: string;
  readonly token: number;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly subscriptionId: string;
  /** Which attempt of its delivery it is: 1 for the first. */
  readonly attempt: number;
  /** How often it was leased, this time included. */
  readonly leases: number;
}

/** What was sent and what came back, for whoever looks at the attempts. */
export interface AttemptRecord {
  readonly url: string | null;
  /** When the request was made, in milliseconds since the epoch; null where none was. */
  readonly sentAtMs: number | null;
  readonly status: number | null;
  readonly durationMs: number;
  readonly responseHeaders: string | null;
  readonly responseBody: string | null;
}

/** One result, reported under an id of its own, so that the same report counts once however often it arrives. */
export interface JobReport {
  readonly report: string;
  readonly job: LeasedJob;
  readonly result: JobResult;
  /** The limit of the delivery as it was when the job was leased. */
  readonly attemptMax: number;
  readonly attempt: AttemptRecord;
}

/** Why a result was booked, or was only noted. */
export const VERDICTS = ["accepted", "repeated", "late", "foreign"] as const;
export type Verdict = (typeof VERDICTS)[number];

export const LEASE_EXPIRED = "lease_expired";
export const SUBSCRIPTION_DELETED = "subscription_deleted";
export const SUBSCRIPTION_DISABLED = "subscription_disabled";

/** The subscriptions that these are about, each once. */
export function lanesOf(reports: readonly JobReport[]): readonly string[] {
  return [...new Set(reports.map(({ job }) => job.subscriptionId))];
}

/** What the lanes' last answers were. What was never sent says nothing about who would have got it. */
export function byHealth(
  reports: readonly JobReport[],
): Readonly<Record<"failed" | "succeeded", readonly JobReport[]>> {
  return {
    failed: reports.filter(({ result, attempt }) => !result.ok && attempt.sentAtMs !== null),
    succeeded: reports.filter(({ result }) => result.ok),
  };
}
