/**
 * Where audit events go. The database's own sink writes them in the transaction that makes them true. An outside
 * sink gets each event at least once, before the change that the event describes; while the sink fails, the change
 * is not made.
 */
import type { Session } from "../storage/database.ts";
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
