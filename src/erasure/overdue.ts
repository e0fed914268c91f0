/** Who waits too long. The law gives one month to answer a request (Art. 12(3) GDPR); whatever keeps it open is named. */
import { AmendsError } from "../core/errors.ts";
import { span, type Period } from "../core/erasure/period.ts";
import { refuseUnknown } from "../core/options.ts";
import type { OutboxEntry } from "../core/outbox/entry.ts";
import { ENTRY, toEntry } from "../outbox/rows.ts";
import { listBlocking } from "../outbox/settle-queries.ts";
import type { Database } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { listOverdue, OVERDUE, type OverdueSubject } from "./queries.ts";

/** An entry without its ref, which may be personal. */
export type BlockingEntry = Pick<
  OutboxEntry,
  "entryId" | "resolver" | "status" | "attempts" | "enqueuedAt" | "nextAttemptAt" | "lastError"
>;

export interface OverdueErasure {
  readonly subjectId: string;
  readonly requestedAt: Date;
  /** When it should have been complete. */
  readonly dueAt: Date;
  /** The erasure in the own tables failed, and was not repeated with success. */
  readonly localFailed: boolean;
  readonly blocking: readonly BlockingEntry[];
}

export interface OverdueOptions {
  /** One month unless said otherwise. */
  readonly deadline?: Period;
  /** 100 unless said otherwise. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

export interface OverduePage {
  readonly erasures: readonly OverdueErasure[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

export const ONE_MONTH: Period = "1mo";
const LIMIT_MAX = 1_000;

export async function readOverdue(db: Database, options: OverdueOptions = {}): Promise<OverduePage> {
  refuseUnknown(options, ["deadline", "limit", "after"], "The report of overdue erasures");
  const { deadline = ONE_MONTH, limit = 100 } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new AmendsError("BAD_OPTION", `A page of overdue erasures has 1 to ${LIMIT_MAX} of them.`);
  }
  const filter = { deadline: span(deadline, "deadline"), limit, after: readCursor(options.after) };
  const listed = await persist(db, () => db.query(listOverdue(db.dialect, filter)));
  const rows = listed.map((row) => OVERDUE.read(row));
  const ids = rows.map(({ subjectId }) => subjectId);
  const found = ids.length > 0 ? await persist(db, () => db.query(listBlocking(db.dialect, ids))) : [];
  const entries = found.map((row) => toEntry(ENTRY.read(row)));
  const last = rows.at(-1);
  return {
    erasures: rows.map((row) => toOverdue(row, entries)),
    // The instant as the database has it: a Date would cut it off.
    next: last && rows.length === limit ? JSON.stringify([last.sinceMs, last.subjectId]) : undefined,
  };
}

function toOverdue(row: OverdueSubject, entries: readonly OutboxEntry[]): OverdueErasure {
  const { subjectId, sinceMs, dueMs, failing } = row;
  return {
    subjectId,
    requestedAt: new Date(sinceMs),
    dueAt: new Date(dueMs),
    localFailed: failing,
    blocking: entries.filter((entry) => entry.subjectId === subjectId).map(withoutRef),
  };
}

function withoutRef(entry: OutboxEntry): BlockingEntry {
  const { entryId, resolver, status, attempts, enqueuedAt, nextAttemptAt, lastError } = entry;
  return { entryId, resolver, status, attempts, enqueuedAt, nextAttemptAt, lastError };
}

function readCursor(after: string | undefined): readonly [number, string] | undefined {
  if (after === undefined) return undefined;
  try {
    const [sinceMs, subjectId] = JSON.parse(after) as unknown[];
    if (typeof sinceMs === "number" && typeof subjectId === "string") return [sinceMs, subjectId];
  } catch {
    // Told below.
  }
  throw new AmendsError("BAD_OPTION", "`after` must be the `next` of the page before.");
}
