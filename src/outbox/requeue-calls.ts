/**
 * A person has removed the cause, and calls that were given up get a fresh budget, under their own ids. Locking and
 * changing them is one transaction, so that whoever repeats it after a lost answer knows what was done then.
 */
import { outboxMachine, type OutboxStatus } from "../core/outbox/machine.ts";
import type { Row, Session } from "../storage/database.ts";
import { lockEntries, requeueEntries } from "./queries.ts";

export class CallRequeue {
  readonly #ids: readonly string[];
  /** How often each had been requeued once this was done. */
  readonly #done = new Map<string, number>();

  constructor(ids: readonly string[]) {
    this.#ids = ids;
  }

  /** Returns the ids that are requeued by this. Those that were not given up are left out. */
  async run(session: Session): Promise<readonly string[]> {
    const rows = await session.query(lockEntries(session.dialect, "call", this.#ids));
    const before = rows.filter((row) => this.#done.get(idOf(row)) === requeuesOf(row)).map(idOf);
    const ready = rows.filter((row) => SOURCES.includes(row["status"] as OutboxStatus)).map(idOf);
    if (ready.length === 0) return before;
    const now = await session.query(requeueEntries(session.dialect, ready));
    for (const row of now) this.#done.set(idOf(row), requeuesOf(row));
    const notice = session.dialect.notify();
    if (notice) await session.query(notice);
    return [...before, ...now.map(idOf)];
  }
}

const SOURCES = outboxMachine.sources("requeue");

function idOf(row: Row): string {
  return row["entry_id"] as string;
}

function requeuesOf(row: Row): number {
  return Number(row["requeues"]);
}
