/**
 * Where audit events go. The database's own sink writes them in the transaction that makes them true. An outside
 * sink gets each event at least once, before the change that the event describes; while the sink fails, the change
 * is not made.
 */
import type { Dialect, Session } from "../storage/database.ts";
import type { Work } from "../storage/joins/work.ts";
import type { NewAuditEvent } from "./event.ts";

/** An audit event with a key by which a sink outside the database recognizes repetitions. */
export interface KeyedAuditEvent extends NewAuditEvent {
  /** The same for every delivery of the same event: store it with a unique constraint and ignore duplicates. */
  readonly dedupeKey: string;
}

/**
 * An audit sink outside the database. While `append` fails, the change that the events describe is not made and is
 * tried again later.
 */
export interface AuditSink {
  /**
   * Stores the events durably. Delivery is at least once: the same event may arrive again, with the same `dedupeKey`.
   */
  append(events: readonly KeyedAuditEvent[]): Promise<void>;
}

/** An audit sink in the same database: the events and the change that they describe commit together. */
export interface TransactionalSink {
  /** Writes the events in the transaction of `session`, without committing it. */
  appendIn(session: Session, events: readonly NewAuditEvent[]): Promise<void>;
}

/** An audit sink of either kind. A sink that has `appendIn` is used as a `TransactionalSink`. */
export type AnySink = AuditSink | TransactionalSink;

export function isTransactional(sink: AnySink): sink is TransactionalSink {
  return typeof (sink as Partial<TransactionalSink>).appendIn === "function";
}

/** A sink of Amends itself: it writes in a synchronous transaction, too. */
export interface YieldingSink extends TransactionalSink {
  appending(dialect: Dialect, events: readonly NewAuditEvent[]): Work<void>;
}

/** `appendIn` as work. A sink of the application needs an asynchronous transaction. */
export function* appending(
  sink: TransactionalSink,
  dialect: Dialect,
  events: readonly NewAuditEvent[],
): Work<void> {
  const own = sink as Partial<YieldingSink>;
  yield {
    name: "The audit sink of `erasure.audit`",
    call: (session) => sink.appendIn(session, events),
    work: own.appending && (() => (sink as YieldingSink).appending(dialect, events)),
  };
}
