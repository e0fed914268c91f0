/** The only place that sees what the drivers return for jobs. */
import type { LeasedJob } from "../../core/delivery/job.ts";
import type { Row } from "../../storage/database.ts";

export function toLeasedJob(row: Row): LeasedJob {
  return {
    id: String(row["id"]),
    token: Number(row["token"]),
    deliveryId: String(row["saga_id"]),
    eventId: String(row["event_id"]),
    subscriptionId: String(row["subscription_id"]),
    attempt: Number(row["attempt"]),
    leases: Number(row["attempts"]),
  };
}
