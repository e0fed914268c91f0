/** The only place that sees what the drivers return for jobs. */
import type { LeasedJob } from "../../core/delivery/job.ts";
import type { Row } from "../../storage/database.ts";

export function toLeasedJob(row: Row): LeasedJob {
  return {
    id: String(row["id"]),
    token: Number(row["token"]),
    deliveryId: String(row["saga_id"]),
    subscriptionId: String(row["subscription_id"]),
    attempt: Number(row["attempt"]),
    leases: Number(row["attempts"]),
  };
}

/** A job as far as it matters to a report that came too late. */
export interface KnownJob {
  readonly id: string;
  readonly deliveryId: string;
  readonly token: number;
  readonly report: string | undefined;
}

export function toKnownJob(row: Row): KnownJob {
  return {
    id: String(row["id"]),
    deliveryId: String(row["saga_id"]),
    token: Number(row["token"]),
    report: (row["report"] as string | null) ?? undefined,
  };
}
