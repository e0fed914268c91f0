/**
 * What makes an entry pointless. A newer rectification of the same subject, resolver and ref takes the place of older
 * ones, finished or not: a retry of the older one would overwrite the newer value. What the older one still had to
 * correct and the newer does not name goes over to the newer. An erasure takes the place of every open rectification.
 *
 * A call of a superseded entry may still be under way. Its worker hears of it with the next renewal, and whatever
 * takes its place waits until the claim's lease is over, so that the older call cannot land after the newer one.
 */
import type { NewAuditEvent } from "../../audit/event.ts";
import type { Correction, OutboxEntry } from "../../core/outbox/entry.ts";
import { ENTRY, toEntry } from "../../outbox/rows.ts";
import { lockRectifications, supersedeEntries } from "../../outbox/settle-queries.ts";
import type { Session } from "../../storage/database.ts";
import type { CheckedEntry } from "./check-entry.ts";
import { SCRUBBED } from "./scrub.ts";

interface Rectification extends OutboxEntry {
  readonly slot: string | undefined;
}

/** What a new entry takes over from those that it supersedes. */
export interface Takeover {
  /** Until when a call of a superseded entry may still be under way. */
  readonly busyUntilMs: number | undefined;
  /** What the superseded entries still had to correct, newer values last. */
  readonly corrections: readonly Correction[];
}

export interface Superseded {
  /** One event for each superseded entry. */
  readonly events: readonly NewAuditEvent[];
  /** By the id of the entry that takes their place. */
  readonly takeovers: ReadonlyMap<string, Takeover>;
}

/** Supersedes whatever the new entries make pointless: one look and at most one change, however many entries. */
export async function supersedeFor(session: Session, entries: readonly CheckedEntry[]): Promise<Superseded> {
  const subjects = [...new Set(entries.map(({ subjectId }) => subjectId))];
  const open = await lockOpenRectifications(session, subjects);
  const events: NewAuditEvent[] = [];
  const takeovers = new Map<string, Takeover>();
  const given = new Map<string, OutboxEntry>();
  for (const entry of entries) {
    const older = (open.get(entry.subjectId) ?? []).filter((one) => givesWay(one, entry));
    if (older.length === 0) continue;
    takeovers.set(entry.entryId, takeoverOf(older));
    for (const one of older) {
      if (given.has(one.entryId)) continue;
      given.set(one.entryId, one);
      events.push(eventOf(one, reasonOf(entry)));
    }
  }
  await supersede(session, [...given.keys()]);
  return { events, takeovers };
}

/** An erasure has made every open rectification of its subject pointless. */
export async function cancelRectifications(
  session: Session,
  subjectId: string,
): Promise<readonly NewAuditEvent[]> {
  const open = (await lockOpenRectifications(session, [subjectId])).get(subjectId) ?? [];
  await supersede(
    session,
    open.map(({ entryId }) => entryId),
  );
  return open.map((one) => eventOf(one, CANCELLED));
}

/** Newer values win; what only the older ones named is kept. */
export function mergeCorrections(
  older: readonly Correction[],
  newer: readonly Correction[],
): readonly Correction[] {
  const merged = new Map([...older, ...newer].map((correction) => [correction.category, correction]));
  return [...merged.values()];
}

function givesWay(older: Rectification, newer: CheckedEntry): boolean {
  return newer.operation === "erase" || (older.slot ?? null) === newer.slot;
}

function takeoverOf(older: readonly OutboxEntry[]): Takeover {
  const busy = older.filter(({ status }) => status === "in_flight");
  // An instant may have been cut off to a whole millisecond: one more is certainly after it.
  const untilMs = Math.max(0, ...busy.map(({ nextAttemptAt }) => (nextAttemptAt?.getTime() ?? 0) + 1));
  return {
    busyUntilMs: untilMs === 0 ? undefined : untilMs,
    corrections: older.flatMap(({ corrections }) => corrections),
  };
}

const CANCELLED = { cancelled_by: "erasure" };

function reasonOf({ operation, entryId }: CheckedEntry): Readonly<Record<string, string>> {
  return operation === "erase" ? CANCELLED : { superseded_by: entryId };
}

function eventOf(older: OutboxEntry, why: Readonly<Record<string, string>>): NewAuditEvent {
  const { entryId, subjectId, resolver, status } = older;
  const payload = { entry_id: entryId, resolver, prior_status: status, ...why };
  return { type: "RECTIFICATION_STEP_SUPERSEDED", subjectId, payload };
}

/** By subject, oldest first. Locked by id, but ordered by age: an id that the caller chose says nothing about it. */
async function lockOpenRectifications(
  session: Session,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, readonly Rectification[]>> {
  const rows = await session.query(lockRectifications(session.dialect, subjects));
  const found = rows
    .map((row) => ENTRY.read(row))
    .map((row): Rectification => ({ ...toEntry(row), slot: row.slot }))
    .toSorted((a, b) => a.enqueuedAt.getTime() - b.enqueuedAt.getTime());
  const bySubject = new Map<string, Rectification[]>();
  for (const one of found) bySubject.set(one.subjectId, [...(bySubject.get(one.subjectId) ?? []), one]);
  return bySubject;
}

async function supersede(session: Session, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await session.query(supersedeEntries(session.dialect, ids, SCRUBBED));
}
