/**
 * Requeues abandoned entries with their attempts reset, after an operator fixed the cause. Rows are locked in the
 * common order; an audit event records the failed attempts. With an outside sink the events are sent first, without
 * locks, and the rows are read again before the update.
 */
import type { NewAuditEvent, Scalar } from "../../audit/event.ts";
import { isTransactional, type AnySink, type AuditSink } from "../../audit/sink.ts";
import { AmendsError, ConfigurationError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { OutboxEntry } from "../../core/outbox/entry.ts";
import type { Database, Session } from "../../storage/database.ts";
import { persist, type RetryLimits } from "../../storage/retry.ts";
import { findEntries } from "../../outbox/queries.ts";
import { isAbandoned, Requeue } from "../../outbox/requeue.ts";
import { ENTRY, toEntry, type EntryRow } from "../../outbox/rows.ts";

/** Why abandoned entries are requeued, and by whom. It goes into the audit trail. */
export interface RequeueNote {
  /** The reason, at most 1000 characters. Never personal data. */
  readonly reason?: string;
  /** The name of the operator, at most 1000 characters. */
  readonly by?: string;
}

const NOTE_MAX = 1_000;

export async function requeue(
  db: Database,
  retryLimits: RetryLimits,
  sink: AnySink,
  ids: readonly string[],
  note: RequeueNote,
  record?: (session: Session) => Promise<void>,
): Promise<readonly OutboxEntry[]> {
  checkNote(note);
  const recorded = isTransactional(sink) ? undefined : await tellFirst(db, retryLimits, sink, ids, note);
  const requeueing = new Requeue({
    table: ENTRY,
    kind: "erasure",
    ids,
    choose: async (session, found) => {
      refuseRectifications(found);
      const chosen = found.filter((entry) => recorded?.has(keyOf(entry)) ?? true);
      if (chosen.length > 0) await record?.(session);
      if (isTransactional(sink) && chosen.length > 0) {
        await sink.appendIn(
          session,
          chosen.map((entry) => eventOf(entry, note)),
        );
      }
      return chosen;
    },
  });
  const requeued = await persist(db, () => db.transaction((session) => requeueing.run(session)), retryLimits);
  return requeued.map(toEntry);
}

async function tellFirst(
  db: Database,
  retryLimits: RetryLimits,
  sink: AuditSink,
  ids: readonly string[],
  note: RequeueNote,
): Promise<ReadonlySet<string>> {
  const find = findEntries(db.dialect, ENTRY, "erasure", ids);
  const rows = await persist(db, () => db.query(find), retryLimits);
  const found = rows.map((row) => ENTRY.read(row)).filter(isAbandoned);
  refuseRectifications(found);
  if (found.length > 0)
    await sink.append(found.map((entry) => ({ ...eventOf(entry, note), dedupeKey: keyOf(entry) })));
  return new Set(found.map(keyOf));
}

/**
 * The values of an abandoned rectification are cleared: a requeue would report success without correcting anything.
 */
function refuseRectifications(abandoned: readonly EntryRow[]): void {
  const rectify = abandoned.filter(({ operation }) => operation === "rectify").map(({ entryId }) => entryId);
  if (rectify.length === 0) return;
  throw new ConfigurationError(
    `A rectification cannot be requeued, as its corrections were cleared when it was abandoned: ${rectify.join(", ")}. Request the rectification again; the new entry supersedes the old one. Nothing was requeued.`,
    { entryIds: rectify },
  );
}

function eventOf(entry: EntryRow, { reason, by }: RequeueNote): NewAuditEvent {
  const payload: Record<string, Scalar> = {
    entry_id: entry.entryId,
    resolver: entry.name,
    prior_attempts: entry.attempts,
    prior_error: entry.lastError ?? null,
    ...(reason !== undefined && { reason }),
    ...(by !== undefined && { by }),
  };
  return { type: "ERASURE_REQUEUED", subjectId: entry.subjectId ?? "", payload };
}

function keyOf({ entryId, requeues }: EntryRow): string {
  return `${entryId}:ERASURE_REQUEUED:${requeues}`;
}

function checkNote(note: RequeueNote): void {
  refuseUnknown(note, ["reason", "by"], "A requeue");
  for (const [name, text] of Object.entries(note)) {
    if (text === undefined || (typeof text === "string" && text.length <= NOTE_MAX)) continue;
    throw new AmendsError("BAD_INPUT", `${name} must be a text of at most ${NOTE_MAX} characters.`);
  }
}
