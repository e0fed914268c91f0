/**
 * Where audit events go. The database's own sink writes them in the transaction that makes them true. A foreign sink
 * gets each at least once, before the change that it tells of; while it fails, the change is not made.
 */
import type { Session } from "../storage/database.ts";
import type { NewAuditEvent } from "./event.ts";

export interface AuditSink {
  /** At least once: the same event may come again, with the same `dedupeKey`. */
  append(events: readonly (NewAuditEvent & { readonly dedupeKey: string })[]): Promise<void>;
}

/** A sink in the same database: event and change are one commit. */
export interface TransactionalSink {
  appendIn(session: Session, events: readonly NewAuditEvent[]): Promise<void>;
}

export type AnySink = AuditSink | TransactionalSink;
