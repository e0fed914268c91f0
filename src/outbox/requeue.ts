/**
 * Requeues abandoned entries under the same ids with their attempts reset, after an operator fixed the cause. One
 * transaction locks and updates them. A repeat after a commit whose answer was lost detects its own changes by the
 * requeue count of each entry.
 */
import type { OutboxKind } from "../core/outbox/entry.ts";
import { outboxMachine } from "../core/outbox/machine.ts";
import type { Session } from "../storage/database.ts";
import { lockEntries, requeueEntries, returnToLanes } from "./queries.ts";
import { CALL, type CallRow, type EntryTable } from "./rows.ts";

type Requeueable = Pick<CallRow, "entryId" | "requeues" | "status">;

export interface RequeueOptions<Entry extends Requeueable> {
  readonly table: EntryTable<Entry>;
  readonly kind: OutboxKind;
  readonly ids: readonly string[];
  /**
   * Selects among the abandoned entries, and runs other work of the same transaction before the update. Default:
   * all entries.
   */
  readonly choose?: (session: Session, abandoned: readonly Entry[]) => Promise<readonly Entry[]>;
}

export class Requeue<Entry extends Requeueable> {
  readonly #options: RequeueOptions<Entry>;
  /** The requeue count of each entry after this requeue. */
  readonly #done = new Map<string, number>();

  constructor(options: RequeueOptions<Entry>) {
    this.#options = options;
  }

  /** Returns the requeued entries in the order of their ids. Entries that are not abandoned are skipped. */
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

/** True if the entry is abandoned, so that an operator may requeue it. */
export function isAbandoned({ status }: Requeueable): boolean {
  return outboxMachine.sources("requeue").includes(status);
}

/** A call begins anew: it waits again for the rate that it has left at its first claim. */
export function requeueCalls(ids: readonly string[]): { run(session: Session): Promise<readonly string[]> } {
  const requeue = new Requeue({ table: CALL, kind: "call", ids });
  const run = async (session: Session): Promise<readonly string[]> => {
    const requeued = await requeue.run(session);
    const rated = requeued.filter(({ limits }) => limits?.rate);
    if (rated.length > 0) await session.query(returnToLanes(session.dialect, rated));
    return requeued.map(({ entryId }) => entryId);
  };
  return { run };
}
