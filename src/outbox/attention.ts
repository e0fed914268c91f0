/** What of the calls of the user's own needs a person now: those that were given up. */
import { outboxMachine } from "../core/outbox/machine.ts";
import type { Database } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { toCall } from "./calls/entry.ts";
import { cursorOf, readCursor } from "./entry-page.ts";
import { listAbandonedEntries } from "./queries.ts";
import { CALL } from "./rows.ts";

export interface AbandonedCallItem {
  readonly kind: "abandoned-call";
  /** The entry's id: what `calls.requeue` takes. */
  readonly id: string;
  /** The name of the call's definition. */
  readonly call: string;
  /** When it was enqueued. */
  readonly since: Date;
  readonly reason: string;
  readonly attempts: number;
  readonly actions: readonly "requeue"[];
}

/** The machine says what may happen to a call that was given up. */
const REQUEUES: readonly "requeue"[] =
  outboxMachine.target("abandoned", "requeue") === undefined ? [] : ["requeue"];

export async function listAbandonedCalls(
  db: Database,
  limit: number,
  after: string | undefined,
): Promise<{ readonly items: readonly AbandonedCallItem[]; readonly next: string | undefined }> {
  const list = listAbandonedEntries(db.dialect, CALL, { kind: "call", limit, after: readCursor(after) });
  const rows = (await persist(db, () => db.query(list))).map((row) => CALL.read(row));
  const items = rows
    .map(toCall)
    .map(({ entryId, name, attempts, enqueuedAt, lastError }): AbandonedCallItem => ({
      kind: "abandoned-call",
      id: entryId,
      call: name,
      since: enqueuedAt,
      reason: `the call ${name} was given up: ${lastError ?? "UnknownError"}`,
      attempts,
      actions: REQUEUES,
    }));
  return { items, next: cursorOf(rows, "enqueuedAt", limit) };
}
