/** A call of the user's own, as lists show it. */
import type { Verification } from "../core/outbox/entry.ts";
import type { OutboxStatus } from "../core/outbox/machine.ts";
import type { CallRow } from "./rows.ts";

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

export function toCall(row: CallRow): CallEntry {
  const { entryId, name, status, attempts, lastError, payload, token } = row;
  const enqueuedAt = new Date(row.enqueuedAt);
  return {
    entryId,
    name,
    status,
    attempts,
    enqueuedAt,
    lastError,
    payload,
    token,
    verification: undefined,
  };
}
