/** The only place that sees what the drivers return for deliveries and lanes. */
import type { Lane } from "../../core/delivery/lane.ts";
import type { DeliveryStatus, SubscriptionStatus } from "../../core/delivery/machine.ts";
import type { Row } from "../../storage/database.ts";

/** Undefined for the row that says that there are no further lanes. */
export function toLane(row: Row, attemptMax: number): Lane | undefined {
  if (row["id"] === null) return undefined;
  const nextDueAt = row["next_due_at"];
  const nowMs = Number(row["now_at"]);
  return {
    subscriptionId: `${row["id"] as string | number}`,
    status: row["status"] as SubscriptionStatus,
    concurrency: Number(row["concurrency"]),
    ordered: Number(row["ordered"]) === 1,
    failing: Number(row["failing"]) === 1,
    active: Number(row["active"]),
    intervalMs: Number(row["interval_ms"]),
    nextDueMs: nextDueAt === null ? 0 : Number(nextDueAt) - nowMs,
    nowMs,
    attemptMax: row["attempt_max"] === null ? attemptMax : Number(row["attempt_max"]),
  };
}

export interface DueDelivery {
  readonly id: string;
  readonly subscriptionId: string;
  readonly status: DeliveryStatus;
  readonly attemptCount: number;
}

export function toDueDelivery(row: Row): DueDelivery {
  return {
    id: String(row["id"]),
    subscriptionId: String(row["subscription_id"]),
    status: row["status"] as DeliveryStatus,
    attemptCount: Number(row["attempt_count"]),
  };
}
