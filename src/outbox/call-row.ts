/** A call of the user's own, as its row says. */
import type { Verification } from "../core/outbox/entry.ts";
import type { OutboxStatus } from "../core/outbox/machine.ts";
import type { Row } from "../storage/database.ts";

/** An entry of the outbox that holds a call. */
export interface CallEntry {
  /** The id of the entry: what `calls.requeue` takes. */
  readonly entryId: string;
  /** The name of the call. */
  readonly name: string;
  /** Where the entry stands. */
  readonly status: OutboxStatus;
  /** How often it was claimed to be made. */
  readonly attempts: number;
  /** When it was enqueued, by the database's clock. */
  readonly enqueuedAt: Date;
  /** The label of the last error, with its message if `keepMessages` is on. */
  readonly lastError: string | undefined;
  /** The input as JSON, until the call is done. */
  readonly payload: string | undefined;
  /** Names the claim that holds it. */
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
