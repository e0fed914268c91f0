/** Writes entries in somebody's open transaction, and settles there what they take the place of. */
import type { NewAuditEvent } from "../audit/event.ts";
import { isTransactional, type AnySink } from "../audit/sink.ts";
import { AmendsError } from "../core/errors.ts";
import type { NewOutboxEntry } from "../core/outbox/entry.ts";
import type { Session } from "../storage/database.ts";
import { checkEntry, encodeCorrections, type CheckedEntry } from "./check-entry.ts";
import { insertEntries, knownIds, type EntryRow } from "./queries.ts";
import { mergeCorrections, supersedeFor, type Takeover } from "./supersede.ts";

export interface EnqueueTools {
  newId(): string;
  readonly audit: AnySink | undefined;
}

export async function enqueueIn(
  session: Session,
  tools: EnqueueTools,
  entries: readonly NewOutboxEntry[],
): Promise<readonly string[]> {
  const checked = entries.map((entry) => checkEntry(entry, () => tools.newId()));
  if (checked.length === 0) return [];
  refuseTwice(checked);
  await refuseKnown(session, entries, checked);
  const { events, takeovers } = await supersedeFor(session, checked);
  const rows = checked.map((entry) => rowOf(entry, takeovers.get(entry.entryId)));
  await session.query(insertEntries(session.dialect, rows));
  await tell(session, tools.audit, events);
  return checked.map(({ entryId }) => entryId);
}

/** What was superseded is on record, in the same transaction where the sink can. */
export async function tell(
  session: Session,
  audit: AnySink | undefined,
  events: readonly NewAuditEvent[],
): Promise<void> {
  if (events.length === 0 || !audit) return;
  if (isTransactional(audit)) return audit.appendIn(session, events);
  await audit.append(
    events.map((event) => ({ ...event, dedupeKey: `${String(event.payload["entry_id"])}:${event.type}` })),
  );
}

/** Two corrections of one thing in one call: which of them is the newer? */
function refuseTwice(entries: readonly CheckedEntry[]): void {
  const seen = new Set<string>();
  for (const { operation, subjectId, resolver, ref } of entries) {
    if (operation !== "rectify") continue;
    const name = JSON.stringify([subjectId, resolver, ref.kind, ref.value]);
    if (seen.has(name))
      throw new AmendsError(
        "BAD_INPUT",
        "Two rectify entries have the same subject, resolver and ref. Make one of them. Nothing was written.",
      );
    seen.add(name);
  }
}

/** An id that the caller chose and that exists would fail the caller's transaction half-way. */
async function refuseKnown(
  session: Session,
  given: readonly NewOutboxEntry[],
  checked: readonly CheckedEntry[],
): Promise<void> {
  const chosen = checked
    .filter((_, index) => given[index]?.entryId !== undefined)
    .map(({ entryId }) => entryId);
  if (chosen.length === 0) return;
  const known = await session.query(knownIds(session.dialect, chosen));
  if (known.length === 0 && new Set(chosen).size === chosen.length) return;
  throw new AmendsError("BAD_ID", "entryId: an entry with this id exists already. Nothing was written.");
}

function rowOf(entry: CheckedEntry, takeover: Takeover | undefined): EntryRow {
  const { entryId, resolver, subjectId, operation, ref, refExtra, generation } = entry;
  const corrections = mergeCorrections(takeover?.corrections ?? [], entry.corrections);
  return [
    entryId,
    "erasure",
    resolver,
    subjectId,
    operation,
    ref.kind,
    ref.value,
    refExtra,
    operation === "rectify" ? encodeCorrections(corrections) : null,
    generation,
    takeover?.busyUntilMs ?? null,
  ];
}
