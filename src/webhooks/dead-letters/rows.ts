/** The only place that sees what the drivers return for dead letters. */
import type { DeadLetterStatus } from "../../core/delivery/machine.ts";
import type { Row } from "../../storage/database.ts";

/** A delivery that was given up: which subscription did not get which event, and why. */
export interface DeadLetter {
  /** The dead delivery: what `resend` and `dismiss` take. */
  readonly deliveryId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly subscriptionId: string;
  readonly status: DeadLetterStatus;
  readonly errorCode: string;
  readonly attemptCount: number;
  readonly createdAt: Date;
  readonly settledAt: Date | undefined;
  readonly reason: string | undefined;
  readonly settledBy: string | undefined;
  /** The delivery that took its place. */
  readonly requeuedAs: string | undefined;
}

export function toDeadLetter(row: Row): DeadLetter {
  const text = (name: string): string | undefined => (row[name] as string | null) ?? undefined;
  return {
    deliveryId: String(row["saga_id"]),
    eventId: row["event_key"] as string,
    eventType: row["type"] as string,
    subscriptionId: String(row["subscription_id"]),
    status: row["status"] as DeadLetterStatus,
    errorCode: row["error_code"] as string,
    attemptCount: Number(row["attempt_count"]),
    createdAt: new Date(Number(row["created_at"])),
    settledAt: row["settled_at"] === null ? undefined : new Date(Number(row["settled_at"])),
    reason: text("reason"),
    settledBy: text("settled_by"),
    requeuedAs: row["requeued_as"] === null ? undefined : `${row["requeued_as"] as string | number}`,
  };
}
