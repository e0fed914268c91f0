/**
 * Supersedes outdated entries. A newer rectification of the same subject, resolver and ref supersedes older ones,
 * finished or not: a retry of the older one would overwrite the newer value. Open corrections of the older one that
 * the newer does not name move to the newer. An erasure supersedes every open rectification.
 *
 * A call of a superseded entry may still run. Its worker learns of it with the next renewal, and the superseding
 * entry waits until the claim's lease has expired, so that the older call cannot arrive after the newer one.
 */
import type { NewAuditEvent } from "../../audit/event.ts";
import type { Correction, OutboxEntry } from "../../core/outbox/entry.ts";
import { ENTRY, toEntry } from "../../outbox/rows.ts";
import { lockRectifications, supersedeEntries } from "../../outbox/settle-queries.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import type { CheckedEntry } from "./check-entry.ts";
import { SCRUBBED } from "./scrub.ts";

interface Rectification extends OutboxEntry {
  readonly slot: string | undefined;
}

/** What a new entry takes over from those that it supersedes. */
export interface Takeover {
  /** The latest instant at which a call of a superseded entry may still run. */
  readonly busyUntilMs: number | undefined;
  /** The open corrections of the superseded entries, newer values last. */
  readonly corrections: readonly Correction[];
}

export interface Superseded {
  /** One event for each superseded entry. */
  readonly events: readonly NewAuditEvent[];
  /** By the id of the superseding entry. */
  readonly takeovers: ReadonlyMap<string, Takeover>;
}

/** Supersedes the entries that the new ones replace: one query and at most one update for any number of entries. */
export function* supersedeFor(dialect: Dialect, entries: readonly CheckedEntry[]): Work<Superseded> {
  const subjects = [...new Set(entries.map(({ subjectId }) => subjectId))];
  const open = yield* lockOpenRectifications(dialect, subjects);
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
  yield* supersede(dialect, [...given.keys()]);
  return { events, takeovers };
}

/** An erasure cancels every open rectification of its subject. */
export function* cancelRectifications(dialect: Dialect, subjectId: string): Work<readonly NewAuditEvent[]> {
  const open = (yield* lockOpenRectifications(dialect, [subjectId])).get(subjectId) ?? [];
  yield* supersede(
    dialect,
    open.map(({ entryId }) => entryId),
  );
  return open.map((one) => eventOf(one, CANCELLED));
}

/** Newer values win; categories that only older entries name are kept. */
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
  // The instant may be truncated to a whole millisecond, so one is added.
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

/** By subject, oldest first. Locked by id, but ordered by age: an id that the caller chose does not sort by age. */
function* lockOpenRectifications(
  dialect: Dialect,
  subjects: readonly string[],
): Work<ReadonlyMap<string, readonly Rectification[]>> {
  const rows = yield lockRectifications(dialect, subjects);
  const found = rows
    .map((row) => ENTRY.read(row))
    .map((row): Rectification => ({ ...toEntry(row), slot: row.slot }))
    .toSorted((a, b) => a.enqueuedAt.getTime() - b.enqueuedAt.getTime());
  const bySubject = new Map<string, Rectification[]>();
  for (const one of found) bySubject.set(one.subjectId, [...(bySubject.get(one.subjectId) ?? []), one]);
  return bySubject;
}

function* supersede(dialect: Dialect, ids: readonly string[]): Work<void> {
  if (ids.length > 0) yield supersedeEntries(dialect, ids, SCRUBBED);
}
