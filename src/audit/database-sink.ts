/**
 * The audit trail in the application's own database. An event is written in the transaction that makes it true: both
 * are committed, or neither is. With a chain, appending locks the head until that transaction ends, so transactions
 * that write to the trail follow one another; append last in a long one.
 */
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Database, Session } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { retryLimitsOf, standalone, type PartContext } from "../runtime/part.ts";
import { checkKey, linkHash, type ChainOptions } from "./chain.ts";
import { checkEvent, type NewAuditEvent } from "./event.ts";
import {
  findEvent,
  insertEvents,
  insertLinked,
  lockHead,
  moveHead,
  type EventRow,
  type LinkedRow,
} from "./queries.ts";
import type { TransactionalSink } from "./sink.ts";

export interface DatabaseAuditOptions {
  /** Makes tampering and truncation visible to `verifyAuditChain`. */
  readonly chain?: ChainOptions;
}

/** Writes audit events into the database that Amends uses. */
export class DatabaseAuditSink implements TransactionalSink {
  readonly #host: PartContext;
  readonly #key: string | Uint8Array | undefined;

  constructor(
    database: Database,
    options: DatabaseAuditOptions = {},
    /** Not for users: what an Amends shares with its parts. */
    context: PartContext = standalone(database),
  ) {
    refuseUnknown(options, ["chain"], "new DatabaseAuditSink");
    this.#host = context;
    this.#key = options.chain && checkKey(options.chain.key);
  }

  /** In the transaction of the session: it commits or rolls back with it. */
  async appendIn(session: Session, events: readonly NewAuditEvent[]): Promise<void> {
    await this.#write(session, this.#rowsOf(events));
  }

  /** In a transaction of its own: for what must be on record whatever becomes of the caller's. */
  async append(events: readonly NewAuditEvent[]): Promise<void> {
    const rows = this.#rowsOf(events);
    const { database } = this.#host;
    database.refuseInside?.();
    // All of them are there or none: after a lost answer, the first one tells.
    let isSent = false;
    const write = async (session: Session): Promise<void> => {
      const [first] = rows;
      if (isSent && first && (await session.query(findEvent(session.dialect, first))).length > 0) return;
      isSent = true;
      await this.#write(session, rows);
    };
    await persist(database, () => database.transaction(write), retryLimitsOf(this.#host));
  }

  #rowsOf(events: readonly NewAuditEvent[]): readonly EventRow[] {
    return events.map((event) => {
      const payload = checkEvent(event);
      return [this.#host.newId(), event.type, event.subjectId, payload];
    });
  }

  async #write(session: Session, rows: readonly EventRow[]): Promise<void> {
    if (rows.length === 0) return;
    if (this.#key === undefined) await session.query(insertEvents(session.dialect, rows));
    else await appendLinked(session, this.#key, rows);
  }
}

async function appendLinked(
  session: Session,
  key: string | Uint8Array,
  rows: readonly EventRow[],
): Promise<void> {
  const [head] = await session.query(lockHead(session.dialect));
  if (!head) {
    throw new AmendsError(
      "DATABASE_REFUSED",
      "The head of the audit chain is gone: somebody removed it. Verify the trail before anything is added.",
    );
  }
  const atMs = Math.floor(Number(head["now_ms"]));
  let link = Number(head["link"]);
  let hash = head["hash"] as string;
  const linked = rows.map(([id, type, subjectId, payload]): LinkedRow => {
    link += 1;
    hash = linkHash(key, hash, { link, id, type, subjectId, atMs, payload });
    return [id, type, subjectId, payload, atMs, link, hash];
  });
  await session.query(insertLinked(session.dialect, linked));
  await session.query(moveHead(session.dialect, link, hash));
}
