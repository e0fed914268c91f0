/** An outbox with its audit trail on a test's database, and a way to write in a transaction of the caller's. */
import type { Amends } from "amends";
import { AuditTrail, DatabaseAuditSink } from "amends/audit";
import { Outbox, type NewOutboxEntry, type OutboxOptions } from "amends/erasure";
import type { VirtualClock } from "amends/testing";
import type { Database, Row } from "../../../src/storage/database.ts";
import { raw, sql } from "../../../src/storage/sql.ts";
import type { TestDatabase } from "../../support/databases.ts";

export interface Shop {
  readonly amends: Amends;
  readonly db: Database;
  readonly outbox: Outbox;
  readonly audit: DatabaseAuditSink;
  /** Enqueues in a transaction that commits. */
  enqueue(...entries: readonly NewOutboxEntry[]): Promise<readonly string[]>;
  /** What is on record about a subject: `ERASURE_STEP_SUCCEEDED`. */
  trail(subjectId?: string): Promise<readonly string[]>;
  /** An entry's row; instants are milliseconds since the epoch. */
  row(entryId: string): Promise<Row>;
  rows(): Promise<readonly Row[]>;
}

export interface ShopOptions extends OutboxOptions {
  readonly clock?: VirtualClock;
  readonly connections?: number;
  readonly database?: Database;
}

export async function shop(database: TestDatabase, options: ShopOptions = {}): Promise<Shop> {
  const { clock, connections, database: given, ...outboxOptions } = options;
  const db = given ?? (await database.open({ clock, ...(connections !== undefined && { connections }) }));
  const amends = await database.amends({ database: db });
  const audit = new DatabaseAuditSink(db);
  const outbox = new Outbox(db, { audit, ...outboxOptions });
  const table = db.dialect.table("outbox");
  const gate = db.dialect.epochMs(raw("next_attempt_at"));
  return {
    amends,
    db,
    outbox,
    audit,
    enqueue: (...entries) => db.transaction((_session, tx) => outbox.enqueue(tx, entries)),
    async trail(subjectId) {
      const page = await new AuditTrail(db).list({
        limit: 1_000,
        ...(subjectId !== undefined && { subjectId }),
      });
      return page.events.map(({ type }) => type);
    },
    async row(entryId) {
      const [row] = await db.query(
        sql`select c.*, ${gate} as gate_ms from ${table} as c where entry_id = ${entryId}`,
      );
      return row ?? {};
    },
    rows: () => db.query(sql`select c.*, ${gate} as gate_ms from ${table} as c order by entry_id`),
  };
}

export function erase(
  subjectId: string,
  resolver: string = "stripe",
  value: string = "cus_1",
): NewOutboxEntry {
  return { subjectId, resolver, ref: { kind: resolver, value } };
}

export function rectify(
  subjectId: string,
  email: string = "new@example.org",
  resolver: string = "stripe",
  value: string = "cus_1",
): NewOutboxEntry {
  const corrections = [{ category: "email", value: email }];
  return { subjectId, resolver, ref: { kind: resolver, value }, operation: "rectify", corrections };
}
