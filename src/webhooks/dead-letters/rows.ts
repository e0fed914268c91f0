/** The only place that sees what the drivers return for dead letters. */
import type { DeadLetterStatus } from "../../core/delivery/machine.ts";
import type { Row } from "../../storage/database.ts";

/** A delivery that used up its attempts or can no longer be sent. */
export interface DeadLetter {
  /** The id of the delivery, for `resend` and `dismiss`. */
  readonly deliveryId: string;
  /** The id of the event, as it was published. */
  readonly eventId: string;
  /** The type of the event. */
  readonly eventType: string;
  /** The id of the subscription. */
  readonly subscriptionId: string;
  /** Whether the dead letter is open, requeued or dismissed. */
  readonly status: DeadLetterStatus;
  /** Why the delivery became a dead letter, such as `http_500` or `subscription_deleted`. */
  readonly errorCode: string;
  /** The number of attempts. */
  readonly attemptCount: number;
  /** When the delivery became a dead letter. */
  readonly createdAt: Date;
  /** When the dead letter was requeued or dismissed; undefined while it is open. */
  readonly settledAt: Date | undefined;
  /** The reason that the operator gave; undefined while it is open. */
  readonly reason: string | undefined;
  /** The operator who settled it; undefined while it is open, or if no name was given. */
  readonly settledBy: string | undefined;
  /** The id of the delivery that replaces it; undefined if there is none. */
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
