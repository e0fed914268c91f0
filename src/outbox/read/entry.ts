/** An entry of the outbox as a line of a list, whatever its kind. */
import type { OutboxKind, OutboxOperation } from "../../core/outbox/entry.ts";
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import { instant, int, optional, text, uuid } from "../../storage/column.ts";
import { projection, type RowOf } from "../../storage/table.ts";

export const LISTED_ENTRY = projection({
  id: uuid("entry_id"),
  kind: text<OutboxKind>("kind"),
  /** The resolver, the name of the call, or the type of the event. */
  name: text("name"),
  status: text<OutboxStatus>("status"),
  attempts: int("attempts"),
  enqueuedAtMs: instant("enqueued_at"),
  lastAttemptAtMs: optional(instant("last_attempt_at")),
  nextAttemptAtMs: optional(instant("next_attempt_at")),
  /** A label, never a message. */
  lastError: optional(text("last_error")),
  /** As JSON. */
  payload: optional(text("payload")),
  /** Of an erasure or a rectification, as are the next four. */
  operation: optional(text<OutboxOperation>("operation")),
  subjectId: optional(text("subject_id")),
  refKind: optional(text("ref_kind")),
  refValue: optional(text("ref_value")),
  /** As JSON. */
  refExtra: optional(text("ref_extra")),
  /** Of a delivery: its handler, and the run that it belongs to. */
  handler: optional(text("handler")),
  sagaId: optional(text("saga_id")),
});

export type ListedEntry = RowOf<typeof LISTED_ENTRY>;
