/**
 * The audit trail in the application's own database. An event is written in the transaction that makes it true: both
 * are committed, or neither is. With a chain, appending locks the head until that transaction ends, so transactions
 * that write to the trail follow one another; append last in a long one.
 */
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import { writeOnce } from "../storage/write/checked-write.ts";
import type { Database, Dialect, Session } from "../storage/database.ts";
import { perform, type Work } from "../storage/joins/work.ts";
import { retryLimitsOf, standalone, type PartContext } from "../runtime/part.ts";
import { checkKey, linkHash, type ChainOptions } from "./chain.ts";
import { checkEvent, type NewAuditEvent } from "./event.ts";
import { findEvent, insertEvents, insertLinked, lockHead, moveHead, type NewEvent } from "./queries.ts";
import { LOCKED_HEAD, type LinkRow } from "./rows.ts";
import type { TransactionalSink } from "./sink.ts";

/** The options of a `DatabaseAuditSink`. */
export interface DatabaseAuditOptions {
  /**
   * Links every event to the one before it, so that `verifyAuditChain` detects tampering and truncation. Default: no
   * chain.
   */
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

  /** Writes the events in the transaction of `session`: they commit or roll back with it. */
  async appendIn(session: Session, events: readonly NewAuditEvent[]): Promise<void> {
    await perform(session, this.appending(session.dialect, events));
  }

  /** @internal */
  *appending(dialect: Dialect, events: readonly NewAuditEvent[]): Work<void> {
    yield* this.#write(dialect, this.#checked(events));
  }

  /** Writes the events in a transaction of its own. They stay on record even if the caller's transaction rolls back. */
  async append(events: readonly NewAuditEvent[]): Promise<void> {
    const made = this.#checked(events);
    const [first] = made;
    if (!first) return;
    const { database } = this.#host;
    database.refuseInside?.();
    await writeOnce(
      database,
      {
        write: async (session) => {
          await perform(session, this.#write(session.dialect, made));
          return true;
        },
        // Either all events were written or none: checking the first one is enough.
        findWritten: async (session) =>
          (await session.query(findEvent(session.dialect, first))).length > 0 ? true : undefined,
      },
      retryLimitsOf(this.#host, "write the audit trail"),
    );
  }

  #checked(events: readonly NewAuditEvent[]): readonly NewEvent[] {
    return events.map((event) => {
      const payload = checkEvent(event);
      return { id: this.#host.newId(), type: event.type, subjectId: event.subjectId, payload };
    });
  }

  *#write(dialect: Dialect, events: readonly NewEvent[]): Work<void> {
    if (events.length === 0) return;
    if (this.#key === undefined) yield insertEvents(dialect, events);
    else yield* appendLinked(dialect, this.#key, events);
  }
}

function* appendLinked(dialect: Dialect, key: string | Uint8Array, events: readonly NewEvent[]): Work<void> {
  const [row] = yield lockHead(dialect);
  if (!row) {
    throw new AmendsError(
      "DATABASE_REFUSED",
      "The head row of the audit chain is missing. Verify the trail before anything is added.",
    );
  }
  const head = LOCKED_HEAD.read(row);
  const atMs = Math.floor(head.nowMs);
  let { link, hash } = head;
  const linked = events.map((event): LinkRow => {
    link += 1;
    hash = linkHash(key, hash, { ...event, link, atMs });
    return { ...event, link, atMs, hash };
  });
  yield insertLinked(dialect, linked);
  yield moveHead(dialect, link, hash);
}
