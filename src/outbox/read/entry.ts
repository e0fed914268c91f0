/** An entry of the outbox as a line of a list, whatever its kind. */
import type { OutboxKind, OutboxOperation } from "../../core/outbox/entry.ts";
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import type { Row } from "../../storage/database.ts";

export interface ListedEntry {
  readonly id: string;
  readonly kind: OutboxKind;
  /** The resolver, the name of the call, or the type of the event. */
  readonly name: string;
  readonly status: OutboxStatus;
  readonly attempts: number;
  readonly enqueuedAtMs: number;
  readonly lastAttemptAtMs: number | undefined;
  readonly nextAttemptAtMs: number | undefined;
  /** A label, never a message. */
  readonly lastError: string | undefined;
  /** As JSON. */
  readonly payload: string | undefined;
  /** Of an erasure or a rectification. */
  readonly operation: OutboxOperation | undefined;
  readonly subjectId: string | undefined;
  readonly refKind: string | undefined;
  readonly refValue: string | undefined;
  /** As JSON. */
  readonly refExtra: string | undefined;
  /** Of a delivery: its handler, and the run that it belongs to. */
  readonly handler: string | undefined;
  readonly sagaId: string | undefined;
}

export function toListedEntry(row: Row): ListedEntry {
  const text = (name: string): string | undefined => (row[name] as string | null) ?? undefined;
  const instant = (name: string): number | undefined => (row[name] === null ? undefined : Number(row[name]));
  return {
    id: row["entry_id"] as string,
    kind: row["kind"] as OutboxKind,
    name: row["name"] as string,
    status: row["status"] as OutboxStatus,
    attempts: Number(row["attempts"]),
    enqueuedAtMs: Number(row["enqueued_at"]),
    lastAttemptAtMs: instant("last_attempt_at"),
    nextAttemptAtMs: instant("next_attempt_at"),
    lastError: text("last_error"),
    payload: text("payload"),
    operation: text("operation") as OutboxOperation | undefined,
    subjectId: text("subject_id"),
    refKind: text("ref_kind"),
    refValue: text("ref_value"),
    refExtra: text("ref_extra"),
    handler: text("handler"),
    sagaId: text("saga_id"),
  };
}
