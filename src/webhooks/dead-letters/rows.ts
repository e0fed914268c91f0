/** The only place that sees what the drivers return for dead letters. */
import type { DeadLetterStatus } from "../../core/delivery/machine.ts";
import type { Row } from "../../storage/database.ts";

/** A delivery that was given up: which subscription did not get which event, and why. */
export interface DeadLetter {
  /** The dead delivery: what `resend` and `dismiss` take. */
  readonly deliveryId: string;
  /** The id of the event. */
  readonly eventId: string;
  /** The type of the event. */
  readonly eventType: string;
  /** The number of the subscription. */
  readonly subscriptionId: string;
  /** Whether it is open, sent again or dismissed. */
  readonly status: DeadLetterStatus;
  /** The label of the last failure. */
  readonly errorCode: string;
  /** How often it was tried. */
  readonly attemptCount: number;
  /** When the delivery was given up, by the database's clock. */
  readonly createdAt: Date;
  /** When it was settled; undefined while it is open. */
  readonly settledAt: Date | undefined;
  /** Why it was settled. */
  readonly reason: string | undefined;
  /** Who settled it. */
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
