/** The rows of the outbox: a durable call, or an entry of any kind with all columns. */
import type {
  Correction,
  OutboxEntry,
  OutboxKind,
  OutboxOperation,
  Verification,
} from "../core/outbox/entry.ts";
import type { OutboxStatus } from "../core/outbox/machine.ts";
import type { Limits } from "../core/start/limits.ts";
import { bigint, instant, int, json, optional, text, uuid } from "../storage/column.ts";
import type { Dialect, Row } from "../storage/database.ts";
import type { Sql } from "../storage/sql.ts";
import { table, type Table } from "../storage/table.ts";

/** The part of a claimed entry that a settle needs. */
export interface HeldEntry {
  readonly entryId: string;
  readonly token: number;
}

/** The reader of entries of one kind. */
export interface EntryTable<Entry> {
  columns(dialect: Dialect, alias?: string): Sql;
  read(row: Row): Entry;
}

/** Only the columns that an attempt needs, because claims of calls are frequent. */
export interface ClaimedCall extends HeldEntry {
  readonly name: string;
  readonly attempts: number;
  readonly payload: string | undefined;
  readonly lastError: string | undefined;
  readonly traceparent: string | undefined;
  readonly requeues: number;
  readonly limits: Limits | undefined;
}

export const CLAIMED_CALL: Table<ClaimedCall> = table("outbox", {
  entryId: uuid("entry_id"),
  token: bigint("token"),
  name: text("name"),
  attempts: int("attempts"),
  payload: optional(text("payload")),
  lastError: optional(text("last_error")),
  traceparent: optional(text("traceparent")),
  requeues: int("requeues"),
  limits: optional(json<Limits>("limits")),
});

/** A durable call. */
export interface CallRow extends ClaimedCall {
  readonly status: OutboxStatus;
  /** Milliseconds since the epoch, as all instants of rows. */
  readonly enqueuedAt: number;
}

export const CALL: Table<CallRow> = table("outbox", {
  ...CLAIMED_CALL.shape,
  status: text<OutboxStatus>("status"),
  enqueuedAt: instant("enqueued_at"),
});

/** An entry of any kind. */
export interface EntryRow extends CallRow {
  readonly kind: OutboxKind;
  readonly sagaId: string | undefined;
  readonly subjectId: string | undefined;
  readonly operation: OutboxOperation | undefined;
  readonly refKind: string | undefined;
  readonly refValue: string | undefined;
  readonly refExtra: string | undefined;
  readonly slot: string | undefined;
  readonly generation: number;
  readonly verification: Verification | undefined;
  readonly horizons: number;
  readonly lastAttemptAt: number | undefined;
  readonly nextAttemptAt: number | undefined;
}

export const ENTRY: Table<EntryRow> = table("outbox", {
  ...CALL.shape,
  kind: text<OutboxKind>("kind"),
  sagaId: optional(text("saga_id")),
  subjectId: optional(text("subject_id")),
  operation: optional(text<OutboxOperation>("operation")),
  refKind: optional(text("ref_kind")),
  refValue: optional(text("ref_value")),
  refExtra: optional(text("ref_extra")),
  slot: optional(text("slot")),
  generation: int("generation"),
  verification: optional(text<Verification>("verification")),
  horizons: int("horizons"),
  lastAttemptAt: optional(instant("last_attempt_at")),
  nextAttemptAt: optional(instant("next_attempt_at")),
});

/** An entry for a data subject. */
export function toEntry(row: EntryRow): OutboxEntry {
  const { entryId, status, attempts, generation, horizons, requeues, verification, lastError, token } = row;
  const extra = parsed(row.refExtra) as Record<string, string> | undefined;
  const operation = row.operation as OutboxOperation;
  return {
    entryId,
    subjectId: row.subjectId ?? "",
    resolver: row.name,
    ref: { kind: row.refKind ?? "", value: row.refValue ?? "", ...(extra && { extra }) },
    operation,
    corrections: operation === "rectify" ? ((parsed(row.payload) as Correction[] | undefined) ?? []) : [],
    status,
    attempts,
    generation,
    horizons,
    requeues,
    verification,
    enqueuedAt: new Date(row.enqueuedAt),
    lastAttemptAt: dateOf(row.lastAttemptAt),
    nextAttemptAt: dateOf(row.nextAttemptAt),
    lastError,
    token,
  };
}

/** False for an invalid entry (edited by hand): it is reported, and must not stop the others. */
export function isReadable({ refExtra, payload }: EntryRow): boolean {
  const isFine = (stored: string | undefined): boolean =>
    stored === undefined || parsed(stored) !== undefined;
  return isFine(refExtra) && isFine(payload);
}

function parsed(stored: string | undefined): object | undefined {
  try {
    const value: unknown = JSON.parse(stored ?? "null");
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
