/**
 * Erasures past their deadline. The law gives one month to answer a request (Art. 12(3) GDPR). The report lists the
 * entries that block each erasure.
 */
import { AmendsError } from "../core/errors.ts";
import { cursor, isInstant, isText } from "../core/cursor.ts";
import { span, type Period } from "../core/erasure/period.ts";
import { refuseUnknown } from "../core/options.ts";
import type { OutboxEntry } from "../core/outbox/entry.ts";
import { ENTRY, toEntry } from "../outbox/rows.ts";
import { listBlocking } from "../outbox/settle-queries.ts";
import type { Reader } from "../storage/read/reader.ts";
import { readPage, type Source } from "../storage/read/selection.ts";
import { OVERDUE, overdueRows, type OverdueSubject } from "./queries.ts";

/** An outbox entry that an erasure waits for, without its ref, which may be personal data. */
export type BlockingEntry = Pick<
  OutboxEntry,
  "entryId" | "resolver" | "status" | "attempts" | "enqueuedAt" | "nextAttemptAt" | "lastError"
>;

/** An erasure that is not complete although its deadline has passed. */
export interface OverdueErasure {
  /** The id of the data subject. */
  readonly subjectId: string;
  /** When the erasure was requested. */
  readonly requestedAt: Date;
  /** The deadline of the erasure. */
  readonly dueAt: Date;
  /** True if the erasure in the database failed and has not succeeded since. */
  readonly localFailed: boolean;
  /** The outbox entries that the erasure waits for. */
  readonly blocking: readonly BlockingEntry[];
}

/** Which erasures count as overdue, and which page of them is returned. */
export interface OverdueOptions {
  /** How long an erasure may take, counted from its request. Default: 1mo. */
  readonly deadline?: Period;
  /** The size of a page, 1 to 1000 erasures. Default: 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}

/** One page of overdue erasures. */
export interface OverduePage {
  /** The erasures of this page, the longest overdue first. */
  readonly erasures: readonly OverdueErasure[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

export const ONE_MONTH: Period = "1mo";
const LIMIT_MAX = 1_000;
const PLACE = cursor<[number, string]>(isInstant, isText);

export async function readOverdue(reader: Reader, options: OverdueOptions = {}): Promise<OverduePage> {
  refuseUnknown(options, ["deadline", "limit", "after"], "The report of overdue erasures");
  const { deadline = ONE_MONTH, limit = 100, after } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new AmendsError("BAD_OPTION", `A page of overdue erasures has 1 to ${LIMIT_MAX} of them.`);
  }
  const { items, next } = await readPage(reader, overdueErasures(deadline), PLACE, { limit, after });
  return { erasures: items, next };
}

/** The erasures of this page, the longest overdue first. */
export function overdueErasures(deadline: Period = ONE_MONTH): Source<OverdueErasure> {
  const checked = span(deadline, "deadline");
  return {
    rows: (dialect) => overdueRows(dialect, checked),
    read: async (reader, rows) => {
      const found = rows.map((row) => OVERDUE.read(row));
      const ids = found.map(({ subjectId }) => subjectId);
      const blocking = ids.length > 0 ? await reader.query(listBlocking(reader.dialect, ids)) : [];
      const entries = blocking.map((row) => toEntry(ENTRY.read(row)));
      return found.map((one) => toOverdue(one, entries));
    },
  };
}

function toOverdue(found: OverdueSubject, entries: readonly OutboxEntry[]): OverdueErasure {
  const { subjectId, sinceMs, dueMs, failing } = found;
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
