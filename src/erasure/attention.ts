/** What of erasures and rectifications needs a person now: entries that were given up, and requests past their deadline. */
import { outboxMachine } from "../core/outbox/machine.ts";
import type { OutboxOperation } from "../core/outbox/entry.ts";
import { pageOf, readCursor } from "../outbox/entry-page.ts";
import { listAbandonedEntries } from "../outbox/queries.ts";
import { ENTRY } from "../outbox/rows.ts";
import type { Database } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { readOverdue, type BlockingEntry } from "./overdue.ts";

export interface AbandonedItem {
  readonly kind: "abandoned-entry";
  /** The entry's id: what `requeue` takes. */
  readonly id: string;
  /** When it was tried for the last time. */
  readonly since: Date;
  readonly reason: string;
  readonly subjectId: string;
  readonly resolver: string;
  readonly operation: OutboxOperation;
  readonly attempts: number;
  /** A rectification cannot be requeued, its values are gone: it is asked for again. */
  readonly actions: readonly "requeue"[];
}

export interface OverdueItem {
  readonly kind: "overdue-erasure";
  /** The subject's id. */
  readonly id: string;
  /** When the erasure should have been complete. */
  readonly since: Date;
  readonly reason: string;
  readonly requestedAt: Date;
  readonly blocking: readonly BlockingEntry[];
  readonly actions: readonly never[];
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | undefined;
}

export async function listAbandonedItems(
  db: Database,
  limit: number,
  after: string | undefined,
): Promise<Page<AbandonedItem>> {
  const list = listAbandonedEntries(db.dialect, ENTRY, { kind: "erasure", limit, after: readCursor(after) });
  const rows = (await persist(db, () => db.query(list))).map((row) => ENTRY.read(row));
  const { entries, next } = pageOf(rows, "enqueuedAt", limit);
  const items = entries.map(
    ({ entryId, subjectId, resolver, operation, attempts, lastError, ...entry }): AbandonedItem => ({
      kind: "abandoned-entry",
      id: entryId,
      since: entry.lastAttemptAt ?? entry.enqueuedAt,
      reason: `${resolver} did not ${operation}: ${lastError ?? "UnknownError"}`,
      subjectId,
      resolver,
      operation,
      attempts,
      actions: operation === "erase" ? REQUEUES : [],
    }),
  );
  return { items, next };
}

/** The machine says what may happen to an entry that was given up. */
const REQUEUES: readonly "requeue"[] =
  outboxMachine.target("abandoned", "requeue") === undefined ? [] : ["requeue"];

/** By the deadline of the law. Whoever set themselves another one asks `erasure.overdue({ deadline })`. */
export async function listOverdueItems(
  db: Database,
  limit: number,
  after: string | undefined,
): Promise<Page<OverdueItem>> {
  const { erasures, next } = await readOverdue(db, { limit, ...(after !== undefined && { after }) });
  const items = erasures.map(({ subjectId, dueAt, requestedAt, localFailed, blocking }): OverdueItem => {
    const waits = blocking.map(({ resolver, status }) => `${resolver} is ${status}`);
    return {
      kind: "overdue-erasure",
      id: subjectId,
      since: dueAt,
      reason: [...(localFailed ? ["the erasure in the own tables failed"] : []), ...waits].join("; "),
      requestedAt,
      blocking,
      actions: [],
    };
  });
  return { items, next };
}
