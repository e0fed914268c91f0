/**
 * An operator confirms, with evidence, what an abandoned entry was to do: the outside system no longer exists, or
 * its owner erased the data by hand. The entry then counts as succeeded, and its request completes if nothing else
 * is open.
 *
 * All open entries of the request are locked first, in the order in which a runner locks them, so that a runner
 * which finishes the last other entry at the same time cannot complete the request as well. With an outside sink
 * the events are sent first, and the runner sends the completion, as in complete.ts.
 */
import type { AuditType, NewAuditEvent } from "../../audit/event.ts";
import { isTransactional, type AnySink, type AuditSink } from "../../audit/sink.ts";
import { checkNote, type OperatorNote } from "../../core/operator-note.ts";
import type { OutboxEntry, OutboxOperation } from "../../core/outbox/entry.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import { findEntries } from "../../outbox/queries.ts";
import { ENTRY, toEntry } from "../../outbox/rows.ts";
import { lockRequestsOf, resolveEntries } from "../../outbox/settle-queries.ts";
import type { Database, Row, Session } from "../../storage/database.ts";
import { perform } from "../../storage/joins/work.ts";
import { persist, type RetryLimits } from "../../storage/retry.ts";
import { completeIn } from "./complete.ts";
import { SCRUBBED } from "./scrub.ts";

const RESOLVED: Readonly<Record<OutboxOperation, AuditType>> = {
  erase: "ERASURE_STEP_RESOLVED",
  rectify: "RECTIFICATION_STEP_RESOLVED",
};

export interface ResolveTools {
  readonly database: Database;
  readonly retryLimits: RetryLimits;
  readonly sink: AnySink;
  readonly newId: () => string;
}

/** Returns the entries that are resolved by this. Ids that are unknown or not abandoned are skipped. */
export async function resolve(
  tools: ResolveTools,
  ids: readonly string[],
  given: OperatorNote,
): Promise<readonly OutboxEntry[]> {
  const { database, retryLimits, sink } = tools;
  const note = checkNote(given, "the audit trail");
  const announced = isTransactional(sink) ? undefined : await announceFirst(tools, sink, ids, note);
  // If the answer to a commit is lost, the next round finds these entries resolved and returns them.
  const attempted = new Set<string>();
  const once = (): Promise<readonly OutboxEntry[]> =>
    database.transaction(async (session) => {
      const locked = entriesOf(await session.query(lockRequestsOf(session.dialect, ids)));
      const own = abandoned(locked.filter(({ entryId }) => ids.includes(entryId)));
      const ready = own.filter((entry) => announced?.has(keyOf(entry)) ?? true);
      const before = await resolvedBefore(session, [...attempted]);
      if (ready.length === 0) return before;
      for (const { entryId } of ready) attempted.add(entryId);
      return [...before, ...(await resolveIn(session, tools, ready, note))];
    });
  return persist(database, once, retryLimits);
}

async function resolveIn(
  session: Session,
  { sink, newId }: ResolveTools,
  entries: readonly OutboxEntry[],
  note: OperatorNote,
): Promise<readonly OutboxEntry[]> {
  const ids = entries.map(({ entryId }) => entryId);
  const rows = await session.query(resolveEntries(session.dialect, ids, SCRUBBED));
  if (isTransactional(sink)) {
    await sink.appendIn(
      session,
      entries.map((entry) => eventOf(entry, note)),
    );
  }
  const requests = new Map(entries.map((entry) => [`${entry.operation} ${entry.subjectId}`, entry]));
  for (const { subjectId, operation } of requests.values())
    await perform(session, completeIn(session.dialect, sink, { subjectId, operation }, newId));
  return entriesOf(rows).toSorted((a, b) => (a.entryId < b.entryId ? -1 : 1));
}

async function resolvedBefore(session: Session, ids: readonly string[]): Promise<readonly OutboxEntry[]> {
  if (ids.length === 0) return [];
  const rows = await session.query(findEntries(session.dialect, ENTRY, "erasure", ids));
  return entriesOf(rows).filter(({ status }) => outboxMachine.isTerminal(status));
}

async function announceFirst(
  { database, retryLimits }: ResolveTools,
  sink: AuditSink,
  ids: readonly string[],
  note: OperatorNote,
): Promise<ReadonlySet<string>> {
  const rows = await persist(
    database,
    () => database.query(findEntries(database.dialect, ENTRY, "erasure", ids)),
    retryLimits,
  );
  const found = abandoned(entriesOf(rows));
  if (found.length > 0)
    await sink.append(found.map((entry) => ({ ...eventOf(entry, note), dedupeKey: keyOf(entry) })));
  return new Set(found.map(keyOf));
}

function entriesOf(rows: readonly Row[]): readonly OutboxEntry[] {
  return rows.map((row) => toEntry(ENTRY.read(row)));
}

function abandoned(entries: readonly OutboxEntry[]): readonly OutboxEntry[] {
  return entries.filter(({ status }) => outboxMachine.sources("resolve").includes(status));
}

function eventOf(entry: OutboxEntry, { reason, by }: OperatorNote): NewAuditEvent {
  return {
    type: RESOLVED[entry.operation],
    subjectId: entry.subjectId,
    payload: {
      entry_id: entry.entryId,
      resolver: entry.resolver,
      prior_attempts: entry.attempts,
      prior_error: entry.lastError ?? null,
      reason,
      ...(by !== undefined && { by }),
    },
  };
}

function keyOf({ entryId, requeues, operation }: OutboxEntry): string {
  return `${entryId}:${RESOLVED[operation]}:${requeues}`;
}
