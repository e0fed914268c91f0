/** An entry of the outbox as a line of a list, whatever its kind. */
import type { OutboxKind, OutboxOperation } from "../../core/outbox/entry.ts";
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import { instant, int, optional, text, uuid } from "../../storage/column.ts";
import type { Row } from "../../storage/database.ts";
import { projection } from "../../storage/table.ts";

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
  /** Of an erasure or a rectification, as are the next four. */
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

const LISTED = projection({
  id: uuid("entry_id"),
  kind: text<OutboxKind>("kind"),
  name: text("name"),
  status: text<OutboxStatus>("status"),
  attempts: int("attempts"),
  enqueuedAtMs: instant("enqueued_at"),
  lastAttemptAtMs: optional(instant("last_attempt_at")),
  nextAttemptAtMs: optional(instant("next_attempt_at")),
  lastError: optional(text("last_error")),
  payload: optional(text("payload")),
  operation: optional(text<OutboxOperation>("operation")),
  subjectId: optional(text("subject_id")),
  refKind: optional(text("ref_kind")),
  refValue: optional(text("ref_value")),
  refExtra: optional(text("ref_extra")),
  handler: optional(text("handler")),
  sagaId: optional(text("saga_id")),
});

export function toListedEntry(row: Row): ListedEntry {
  return LISTED.read(row);
}

/** An event, or its delivery to one handler, that belongs to a run. */
export interface TrailEntry extends ListedEntry {
  readonly eventId: string;
  /** The event that led to it. */
  readonly causation: string | undefined;
}

const TRAIL = projection({
  ...LISTED.shape,
  eventId: uuid("event_id"),
  causation: optional(text("causation")),
});

export function toTrailEntry(row: Row): TrailEntry {
  return TRAIL.read(row);
}
