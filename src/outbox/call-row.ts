/** A call of the user's own, as its row says. */
import type { Verification } from "../core/outbox/entry.ts";
import type { OutboxStatus } from "../core/outbox/machine.ts";
import type { Row } from "../storage/database.ts";

export interface CallEntry {
  readonly entryId: string;
  readonly name: string;
  readonly status: OutboxStatus;
  readonly attempts: number;
  readonly enqueuedAt: Date;
  readonly lastError: string | undefined;
  /** The input as JSON, until the call is done. */
  readonly payload: string | undefined;
  readonly token: number;
  readonly verification: Verification | undefined;
}

export function toCall(row: Row): CallEntry {
  return {
    entryId: row["entry_id"] as string,
    name: row["name"] as string,
    status: row["status"] as OutboxStatus,
    attempts: Number(row["attempts"]),
    enqueuedAt: new Date(Number(row["enqueued_at"])),
    lastError: (row["last_error"] as string | null) ?? undefined,
    payload: (row["payload"] as string | null) ?? undefined,
    token: Number(row["token"]),
    verification: undefined,
  };
}
