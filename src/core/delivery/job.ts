/** The types that the orchestrator, the job layer and the sender share. */
import type { JobResult } from "./decide.ts";

/** A leased job: one attempt of one delivery. */
export interface LeasedJob {
  readonly id: string;
  readonly token: number;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly subscriptionId: string;
  /** The number of the attempt: 1 for the first. */
  readonly attempt: number;
  /** The number of leases of the job, this one included. */
  readonly leases: number;
}

/** The request and the response, for the log of attempts. */
export interface AttemptRecord {
  readonly url: string | null;
  /** When the request was made, in milliseconds since the epoch; null if none was made. */
  readonly sentAtMs: number | null;
  readonly status: number | null;
  readonly durationMs: number;
  readonly responseHeaders: string | null;
  readonly responseBody: string | null;
}

/** The result of one job with its own id, so that a repeated report counts once. */
export interface Report {
  readonly report: string;
  readonly job: Pick<LeasedJob, "id" | "deliveryId" | "subscriptionId" | "attempt">;
  readonly result: JobResult;
  /** The attempt limit of the delivery at the time of the lease. */
  readonly attemptMax: number;
  /** True if a request was sent. Without a request, the result says nothing about the receiver. */
  readonly wasSent: boolean;
}

/** A report with everything that is recorded about it. */
export interface JobReport extends Report {
  readonly job: LeasedJob;
  readonly attempt: AttemptRecord;
}

/** Why a result was applied, or was only recorded. */
export const VERDICTS = ["accepted", "repeated", "late", "foreign"] as const;
/** Why the result of an attempt was applied (`accepted`), or was only recorded. */
export type Verdict = (typeof VERDICTS)[number];

/** Why a subscription is disabled: its receiver answered 410, or it has only failed for too long. */
export const DISABLE_REASONS = ["gone", "failing"] as const;
export type DisableReason = (typeof DISABLE_REASONS)[number];

/** The receiver answered 410 Gone. */
export function isGone({ result, wasSent }: Report): boolean {
  return wasSent && !result.ok && result.gone === true;
}

/** The subscriptions that these reports are about, each once. */
export function lanesOf(reports: readonly Report[]): readonly string[] {
  return [...new Set(reports.map(({ job }) => job.subscriptionId))];
}

/** The effect of these reports on the health of their receivers. */
export function byHealth<R extends Report>(
  reports: readonly R[],
): Readonly<Record<"failed" | "succeeded", readonly R[]>> {
  return {
    failed: reports.filter(({ result, wasSent }) => !result.ok && wasSent),
    succeeded: reports.filter(({ result }) => result.ok),
  };
}

/**
 * The part of a result that the job row stores as text until the orchestrator applies it. The job's state says
 * whether it succeeded.
 */
interface KeptResult {
  readonly code: string;
  readonly final?: true;
  readonly gone?: true;
  readonly retryAfterMs?: number;
  readonly wasSent: boolean;
}

export function encodeResult({ result, wasSent }: Pick<Report, "result" | "wasSent">): string {
  const { code, final, gone, retryAfterMs } = result;
  const kept: KeptResult = {
    code,
    ...(final === true && { final }),
    ...(gone === true && { gone }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    wasSent,
  };
  return JSON.stringify(kept);
}

export function decodeResult(text: string, ok: boolean): Pick<Report, "result" | "wasSent"> {
  const { wasSent, ...result } = JSON.parse(text) as KeptResult;
  return { result: { ok, ...result }, wasSent };
}
