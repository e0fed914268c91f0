/**
 * What makes an entry pointless. A newer rectification of the same subject, resolver and ref takes the place of older
 * ones, finished or not: a retry of the older one would overwrite the newer value. What the older one still had to
 * correct and the newer does not name goes over to the newer. An erasure takes the place of every open rectification.
 *
 * A call of a superseded entry may still be under way. Its worker hears of it with the next renewal, and whatever
 * takes its place waits until the claim's lease is over, so that the older call cannot land after the newer one.
 */
import { outboxMachine, type OutboxStatus } from "../core/outbox/machine.ts";
import type { NewAuditEvent } from "../audit/event.ts";
import type { Correction } from "../core/outbox/entry.ts";
import type { Column, Dialect, Session } from "../storage/database.ts";
import { literals, raw, sql, type Sql } from "../storage/sql.ts";
import type { CheckedEntry } from "./check-entry.ts";
import { entryColumns, toEntry } from "./rows.ts";
import { refHash, SCRUBBED } from "./scrub.ts";

export interface Superseded {
  /** One event for each. */
  readonly events: readonly NewAuditEvent[];
  /** Until when a call of a superseded entry may still be under way; undefined where none is. */
  readonly busyUntilMs: number | undefined;
  /** What superseded entries still had to correct. */
  readonly corrections: readonly Correction[];
}

const NOTHING: Superseded = { events: [], busyUntilMs: undefined, corrections: [] };

/** An older rectification gives way to this one. */
export async function supersedeRectifications(session: Session, entry: CheckedEntry): Promise<Superseded> {
  const { subjectId, resolver, ref, entryId } = entry;
  const refs = [ref.value, refHash(subjectId, ref)];
  const isSame = sql`c.name = ${resolver} and c.ref_kind = ${ref.kind} and ${session.dialect.among(raw("c.ref_value"), refs)}`;
  return supersede(session, subjectId, isSame, { superseded_by: entryId });
}

/** An erasure has made every open rectification of its subject pointless. */
export async function cancelRectifications(session: Session, subjectId: string): Promise<Superseded> {
  return supersede(session, subjectId, raw("true"), { cancelled_by: "erasure" });
}

async function supersede(
  session: Session,
  subjectId: string,
  which: Sql,
  why: Readonly<Record<string, string>>,
): Promise<Superseded> {
  const { dialect } = session;
  const found = await session.query(lockRectifications(dialect, subjectId, which));
  if (found.length === 0) return NOTHING;
  // Locked by id, but merged by age: an id that the caller chose says nothing about it.
  const entries = found.map(toEntry).toSorted((a, b) => a.enqueuedAt.getTime() - b.enqueuedAt.getTime());
  await session.query(
    supersedeEntries(
      dialect,
      entries.map(({ entryId }) => entryId),
    ),
  );
  const busy = entries
    .filter(({ status }) => status === "in_flight")
    .map(({ nextAttemptAt }) => nextAttemptAt);
  const busyUntilMs = Math.max(0, ...busy.map((until) => (until?.getTime() ?? 0) + 1));
  return {
    events: entries.map(({ entryId, resolver, status }) => ({
      type: "RECTIFICATION_STEP_SUPERSEDED",
      subjectId,
      payload: { entry_id: entryId, resolver, prior_status: status, ...why },
    })),
    busyUntilMs: busyUntilMs === 0 ? undefined : busyUntilMs,
    corrections: entries.flatMap(({ corrections }) => corrections),
  };
}

/** Newer values win; what only the older ones named is kept. */
export function mergeCorrections(
  older: readonly Correction[],
  newer: readonly Correction[],
): readonly Correction[] {
  const merged = new Map([...older, ...newer].map((correction) => [correction.category, correction]));
  return [...merged.values()];
}

const SUPERSEDABLE = outboxMachine.sources("supersede");
const GIVEN_WAY = outboxMachine.target("pending", "supersede") as OutboxStatus;

/** In the order in which everybody locks them. */
function lockRectifications(dialect: Dialect, subjectId: string, which: Sql): Sql {
  return sql`select ${entryColumns(dialect, "c")} from ${dialect.table("outbox")} as c
    where c.kind = 'erasure' and c.subject_id = ${subjectId} and c.operation = 'rectify'
      and c.status in (${literals(SUPERSEDABLE)}) and ${which}
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

const IDS: readonly Column[] = [{ name: "row_id", type: "uuid" }];

/** The ref goes as well: nobody will call with it again. */
function supersedeEntries(dialect: Dialect, ids: readonly string[]): Sql {
  const given = dialect.rows(
    IDS,
    ids.map((id) => [id]),
  );
  return sql`update ${dialect.table("outbox")} as c
    set status = ${literals([GIVEN_WAY])}, payload = null, next_attempt_at = null, last_error = null,
      ref_value = ${SCRUBBED}, ref_extra = null
    from ${given} where c.entry_id = r.row_id and c.status in (${literals(SUPERSEDABLE)})`;
}
