/** Writes entries in the caller's open transaction, and supersedes the entries that they replace. */
import type { NewAuditEvent } from "../../audit/event.ts";
import { appending, isTransactional, type AnySink } from "../../audit/sink.ts";
import { AmendsError } from "../../core/errors.ts";
import type { NewOutboxEntry } from "../../core/outbox/entry.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import { checkEntry, encodeCorrections, type CheckedEntry } from "./check-entry.ts";
import { idOf, insertEntries, knownIds, type NewEntry } from "../../outbox/queries.ts";
import { mergeCorrections, supersedeFor, type Takeover } from "./supersede.ts";

export interface EnqueueTools {
  newId(): string;
  /** The traceparent of the current span. */
  traceparent(): string | undefined;
  readonly audit: AnySink | undefined;
}

export function* enqueueIn(
  dialect: Dialect,
  tools: EnqueueTools,
  entries: readonly NewOutboxEntry[],
): Work<readonly string[]> {
  const checked = entries.map((entry) => checkEntry(entry, () => tools.newId()));
  if (checked.length === 0) return [];
  refuseTwice(checked);
  const chosen = checked.filter((_, index) => entries[index]?.entryId !== undefined);
  if (chosen.length > 0) yield* refuseKnown(dialect, chosen);
  const events: NewAuditEvent[] = [];
  // A rectification of the same ref that was committed concurrently counts as older: it is superseded, too.
  for (let left: readonly CheckedEntry[] = checked; left.length > 0;) {
    const older = yield* supersedeFor(dialect, left);
    events.push(...older.events);
    const made = left.map((entry) => newEntry(entry, older.takeovers.get(entry.entryId)));
    const written = yield insertEntries(dialect, made, tools.traceparent());
    const ids = new Set(written.map(idOf));
    left = left.filter(({ entryId }) => !ids.has(entryId));
    if (left.length > 0) yield* refuseKnown(dialect, left);
  }
  yield* tell(dialect, tools.audit, events);
  return checked.map(({ entryId }) => entryId);
}

/** Superseded entries get an audit event, in the same transaction if the sink is transactional. */
export function* tell(
  dialect: Dialect,
  audit: AnySink | undefined,
  events: readonly NewAuditEvent[],
): Work<void> {
  if (events.length === 0 || !audit) return;
  if (isTransactional(audit)) {
    yield* appending(audit, dialect, events);
    return;
  }
  const keyed = events.map((event) => ({
    ...event,
    dedupeKey: `${String(event.payload["entry_id"])}:${event.type}`,
  }));
  yield { name: "The audit sink of the outbox", call: () => audit.append(keyed) };
}

/** Refuses two rectifications of one ref in one call: neither is the newer one. */
function refuseTwice(entries: readonly CheckedEntry[]): void {
  const slots = entries.flatMap(({ slot }) => slot ?? []);
  if (new Set(slots).size === slots.length) return;
  throw new AmendsError(
    "BAD_INPUT",
    "Two rectify entries have the same subject, resolver and ref. Merge them into one entry. Nothing was written.",
  );
}

/** An existing id that the caller chose would fail the caller's transaction half-way. */
function* refuseKnown(dialect: Dialect, entries: readonly CheckedEntry[]): Work<void> {
  const ids = entries.map(({ entryId }) => entryId);
  const known = yield knownIds(dialect, ids);
  if (known.length === 0 && new Set(ids).size === ids.length) return;
  throw new AmendsError(
    "BAD_ID",
    "entryId: an entry with this id exists already. Roll the transaction back, and choose another id or none.",
  );
}

function newEntry(entry: CheckedEntry, takeover: Takeover | undefined): NewEntry {
  const { entryId, resolver, subjectId, operation, ref, refExtra, slot, generation } = entry;
  const corrections = mergeCorrections(takeover?.corrections ?? [], entry.corrections);
  return {
    entryId,
    kind: "erasure",
    name: resolver,
    subjectId,
    operation,
    refKind: ref.kind,
    refValue: ref.value,
    refExtra,
    slot,
    payload: operation === "rectify" ? encodeCorrections(corrections) : null,
    generation,
    notBeforeMs: takeover?.busyUntilMs,
  };
}
