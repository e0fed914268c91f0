/**
 * Where audit events go. The database's own sink writes them in the transaction that makes them true. A foreign sink
 * gets each at least once, before the change that it tells of; while it fails, the change is not made.
 */
import type { Session } from "../storage/database.ts";
import type { NewAuditEvent } from "./event.ts";

/** The same fact told again has the same key. */
export interface KeyedAuditEvent extends NewAuditEvent {
  /** The same key again is the same event: a sink stores it once. */
  readonly dedupeKey: string;
}

/** A place outside the database that audit events are sent to. */
export interface AuditSink {
  /** At least once: the same event may come again, with the same `dedupeKey`. */
  append(events: readonly KeyedAuditEvent[]): Promise<void>;
}

/** A sink in the same database: event and change are one commit. */
export interface TransactionalSink {
  /** Writes events in the transaction of the change that they tell of. */
  appendIn(session: Session, events: readonly NewAuditEvent[]): Promise<void>;
}

/** Either kind of sink. */
export type AnySink = AuditSink | TransactionalSink;

export function isTransactional(sink: AnySink): sink is TransactionalSink {
  return typeof (sink as Partial<TransactionalSink>).appendIn === "function";
}
