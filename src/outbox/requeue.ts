/**
 * A person has removed the cause, and entries that were given up get a fresh budget, under their own ids. Locking and
 * changing them is one transaction. Repeated after a commit whose answer was lost, it recognises what it did by the number
 * of requeues that each entry had then.
 */
import type { OutboxKind } from "../core/outbox/entry.ts";
import { outboxMachine } from "../core/outbox/machine.ts";
import type { Session } from "../storage/database.ts";
import { lockEntries, requeueEntries } from "./queries.ts";
import { CALL, type CallRow, type EntryTable } from "./rows.ts";

type Requeueable = Pick<CallRow, "entryId" | "requeues" | "status">;

export interface RequeueOptions<Entry extends Requeueable> {
  readonly table: EntryTable<Entry>;
  readonly kind: OutboxKind;
  readonly ids: readonly string[];
  /**
   * Chooses among those that were given up and does, in the same transaction, what has to come before their change.
   * Default: all of them.
   */
  readonly choose?: (session: Session, abandoned: readonly Entry[]) => Promise<readonly Entry[]>;
}

export class Requeue<Entry extends Requeueable> {
  readonly #options: RequeueOptions<Entry>;
  /** How often each had been requeued once this was done. */
  readonly #done = new Map<string, number>();

  constructor(options: RequeueOptions<Entry>) {
    this.#options = options;
  }

  /** Returns the entries that are requeued by this, in the order of their ids. Those that were not given up are left out. */
  async run(session: Session): Promise<readonly Entry[]> {
    const { table, kind, ids, choose } = this.#options;
    const { dialect } = session;
    const found = (await session.query(lockEntries(dialect, table, kind, ids))).map((row) => table.read(row));
    const before = found.filter(({ entryId, requeues }) => this.#done.get(entryId) === requeues);
    const abandoned = found.filter(isAbandoned);
    const chosen = choose ? await choose(session, abandoned) : abandoned;
    if (chosen.length === 0) return before;
    const chosenIds = chosen.map(({ entryId }) => entryId);
    const rows = await session.query(requeueEntries(dialect, table, chosenIds));
    const requeued = rows.map((row) => table.read(row));
    for (const { entryId, requeues } of requeued) this.#done.set(entryId, requeues);
    const notice = dialect.notify();
    if (notice) await session.query(notice);
    return [...before, ...requeued].toSorted((a, b) => (a.entryId < b.entryId ? -1 : 1));
  }
}

/** Was it given up, so that a person may requeue it? */
export function isAbandoned({ status }: Requeueable): boolean {
  return outboxMachine.sources("requeue").includes(status);
}

export function requeueCalls(ids: readonly string[]): { run(session: Session): Promise<readonly string[]> } {
  const requeue = new Requeue({ table: CALL, kind: "call", ids });
  return { run: async (session) => (await requeue.run(session)).map(({ entryId }) => entryId) };
}
