/**
 * A person has removed the cause, and abandoned entries get a fresh budget. Their rows are locked in the order in which
 * everybody locks them; what they went through moves into an event. With a foreign sink the events go out first, without
 * anything locked meanwhile, and the rows are looked at again before they change.
 */
import type { NewAuditEvent, Scalar } from "../../audit/event.ts";
import { isTransactional, type AnySink, type AuditSink } from "../../audit/sink.ts";
import { AmendsError, ConfigurationError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { OutboxEntry } from "../../core/outbox/entry.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import type { Database } from "../../storage/database.ts";
import { persist, type RetryLimits } from "../../storage/retry.ts";
import { findEntries, lockEntries, requeueEntries } from "../../outbox/queries.ts";
import { toEntry } from "../../outbox/rows.ts";

export interface RequeueNote {
  /** Why, for the audit trail. Never personal data. */
  readonly reason?: string;
  readonly by?: string;
}

const NOTE_MAX = 1_000;

export async function requeue(
  db: Database,
  retryLimits: RetryLimits,
  sink: AnySink,
  ids: readonly string[],
  note: RequeueNote,
): Promise<readonly OutboxEntry[]> {
  checkNote(note);
  const told = isTransactional(sink) ? undefined : await tellFirst(db, retryLimits, sink, ids, note);
  // The answer to a commit may be lost: what flipped then is known by the number of its requeues.
  const flipped = new Map<string, number>();
  const isFlipped = ({ entryId, requeues }: OutboxEntry): boolean => flipped.get(entryId) === requeues;
  const once = (): Promise<readonly OutboxEntry[]> =>
    db.transaction(async (session) => {
      const rows = await session.query(lockEntries(session.dialect, "erasure", ids));
      const found = rows.map(toEntry);
      const before = found.filter(isFlipped);
      const flips = abandoned(found).filter((entry) => told?.has(keyOf(entry)) ?? true);
      if (flips.length === 0) return before;
      if (isTransactional(sink)) {
        await sink.appendIn(
          session,
          flips.map((entry) => eventOf(entry, note)),
        );
      }
      const ready = flips.map(({ entryId }) => entryId);
      const now = (await session.query(requeueEntries(session.dialect, ready))).map(toEntry);
      for (const { entryId, requeues } of now) flipped.set(entryId, requeues);
      const notice = session.dialect.notify();
      if (notice) await session.query(notice);
      return [...before, ...now].toSorted((a, b) => (a.entryId < b.entryId ? -1 : 1));
    });
  return persist(db, once, retryLimits);
}

async function tellFirst(
  db: Database,
  retryLimits: RetryLimits,
  sink: AuditSink,
  ids: readonly string[],
  note: RequeueNote,
): Promise<ReadonlySet<string>> {
  const rows = await persist(db, () => db.query(findEntries(db.dialect, "erasure", ids)), retryLimits);
  const found = abandoned(rows.map(toEntry));
  if (found.length > 0)
    await sink.append(found.map((entry) => ({ ...eventOf(entry, note), dedupeKey: keyOf(entry) })));
  return new Set(found.map(keyOf));
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

function eventOf(entry: OutboxEntry, { reason, by }: RequeueNote): NewAuditEvent {
  const payload: Record<string, Scalar> = {
    entry_id: entry.entryId,
    resolver: entry.resolver,
    prior_attempts: entry.attempts,
    prior_error: entry.lastError ?? null,
    ...(reason !== undefined && { reason }),
    ...(by !== undefined && { by }),
  };
  return { type: "ERASURE_REQUEUED", subjectId: entry.subjectId, payload };
}

function keyOf({ entryId, requeues }: OutboxEntry): string {
  return `${entryId}:ERASURE_REQUEUED:${requeues}`;
}

function checkNote(note: RequeueNote): void {
  refuseUnknown(note, ["reason", "by"], "A requeue");
  for (const [name, text] of Object.entries(note)) {
    if (text === undefined || (typeof text === "string" && text.length <= NOTE_MAX)) continue;
    throw new AmendsError("BAD_INPUT", `${name} must be a text of at most ${NOTE_MAX} characters.`);
  }
}
