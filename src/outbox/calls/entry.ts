/** The public view of a durable call. */
import type { Verification } from "../../core/outbox/entry.ts";
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import type { CallRow } from "../rows.ts";

/** An entry of the outbox that holds a call. */
export interface CallEntry {
  /** The id of the entry: what `calls.requeue` takes. */
  readonly entryId: string;
  /** The name of the call. */
  readonly name: string;
  /** The status of the entry. */
  readonly status: OutboxStatus;
  /** The number of attempts so far, the current one included. */
  readonly attempts: number;
  /** When it was enqueued, by the database's clock. */
  readonly enqueuedAt: Date;
  /** The label of the last error, with its message if `keepMessages` is on. */
  readonly lastError: string | undefined;
  /** The input as JSON, until the call is done. */
  readonly payload: string | undefined;
  /** The fencing token of the latest claim. */
  readonly token: number;
  /** Always undefined: calls are not verified. */
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
