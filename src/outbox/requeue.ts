/**
 * A person has removed the cause, and abandoned entries get a fresh budget. Their rows are locked in the order in which
 * everybody locks them; what they went through moves into an event. With a foreign sink the events go out first, without
 * anything locked meanwhile, and the rows are looked at again before they change.
 */
import type { NewAuditEvent, Scalar } from "../audit/event.ts";
import { isTransactional, type AnySink } from "../audit/sink.ts";
import { ConfigurationError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { OutboxEntry } from "../core/outbox/entry.ts";
import { outboxMachine } from "../core/outbox/machine.ts";
import type { Database, Session } from "../storage/database.ts";
import { findEntries, lockEntries, requeueEntries } from "./queries.ts";
import { toEntry } from "./rows.ts";

export interface RequeueNote {
  /** Why, for the audit trail. Never personal data. */
  readonly reason?: string;
  readonly by?: string;
}

const NOTE_MAX = 1_000;

export async function requeueIn(
  db: Database,
  sink: AnySink,
  ids: readonly string[],
  note: RequeueNote,
): Promise<readonly OutboxEntry[]> {
  checkNote(note);
  const told = new Set<string>();
  if (!isTransactional(sink)) {
    const found = abandoned((await db.query(findEntries(db.dialect, ids))).map(toEntry));
    if (found.length > 0)
      await sink.append(found.map((entry) => ({ ...eventOf(entry, note), dedupeKey: keyOf(entry) })));
    for (const entry of found) told.add(keyOf(entry));
  }
  return db.transaction(async (session: Session) => {
    const locked = abandoned((await session.query(lockEntries(session.dialect, ids))).map(toEntry));
    const flips = isTransactional(sink) ? locked : locked.filter((entry) => told.has(keyOf(entry)));
    if (flips.length === 0) return [];
    if (isTransactional(sink)) {
      await sink.appendIn(
        session,
        flips.map((entry) => eventOf(entry, note)),
      );
    }
    const ready = flips.map(({ entryId }) => entryId);
    const rows = await session.query(requeueEntries(session.dialect, ready));
    const notice = session.dialect.notify();
    if (notice) await session.query(notice);
    return rows.map(toEntry).toSorted((a, b) => (a.entryId < b.entryId ? -1 : 1));
  });
}

/** Corrections are gone when a rectification is abandoned: trying it again would correct nothing and say that it did. */
function abandoned(entries: readonly OutboxEntry[]): readonly OutboxEntry[] {
  const found = entries.filter(({ status }) => outboxMachine.sources("requeue").includes(status));
  const rectify = found.filter(({ operation }) => operation === "rectify").map(({ entryId }) => entryId);
  if (rectify.length === 0) return found;
  throw new ConfigurationError(
    `A rectification cannot be requeued, as its corrections were cleared when it was abandoned: ${rectify.join(", ")}. Issue it again; the new one takes the place of the old. Nothing was requeued.`,
    { entryIds: rectify },
  );
}

function eventOf(
  { entryId, subjectId, resolver, attempts, lastError }: OutboxEntry,
  note: RequeueNote,
): NewAuditEvent {
  const payload: Record<string, Scalar> = {
    entry_id: entryId,
    resolver,
    prior_attempts: attempts,
    prior_error: lastError ?? null,
    ...(note.reason !== undefined && { reason: note.reason }),
    ...(note.by !== undefined && { by: note.by }),
  };
  return { type: "ERASURE_REQUEUED", subjectId, payload };
}

function keyOf({ entryId, requeues }: OutboxEntry): string {
  return `${entryId}:ERASURE_REQUEUED:${requeues}`;
}

function checkNote(note: RequeueNote): void {
  refuseUnknown(note, ["reason", "by"], "A requeue");
  for (const text of [note.reason, note.by]) {
    if (text === undefined || (typeof text === "string" && text.length <= NOTE_MAX)) continue;
    throw new ConfigurationError(
      `The reason of a requeue and who asked for it are texts of at most ${NOTE_MAX} characters.`,
    );
  }
}
