/** `bun:sqlite`, Drizzle over it, and Drizzle over `node:sqlite`, which Bun has as well. */
import { Database } from "bun:sqlite";
import { DatabaseSync } from "node:sqlite";
import { drizzleSqlite } from "amends/drizzle";
import { sqlite, type SqliteHandle } from "amends/sqlite";
import { drizzle, type BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { sqliteTable, text as textColumn } from "drizzle-orm/sqlite-core";
import { sql as statement } from "drizzle-orm-next";
import { drizzle as drizzleNode } from "drizzle-orm-next/node-sqlite";
import { SYNC_TABLES, syncClient, type SyncClient } from "../sync-client.ts";

const notes = sqliteTable("notes", { text: textColumn("text").primaryKey() });

export const onBunSqlite: SyncClient = syncClient<SqliteHandle>("bun:sqlite", (file) => {
  const [db, own] = [new Database(file), new Database(file)];
  db.exec(SYNC_TABLES);
  return {
    database: sqlite(own),
    transaction: (work) => db.transaction(() => work(db))(),
    nested: (_tx, work) => db.transaction(() => work(db))(),
    write: (_tx, text) => db.prepare("insert into notes values (?)").run(text),
    rows: (text) => db.prepare(text).all(),
    roots: () => ({ db }),
    close() {
      db.close();
      own.close();
    },
  };
});

type BunTx = Parameters<Parameters<BunSQLiteDatabase["transaction"]>[0]>[0];

export const onDrizzleBunSqlite: SyncClient = syncClient<BunTx>("Drizzle over bun:sqlite", (file) => {
  const [client, own] = [new Database(file), new Database(file)];
  client.exec(SYNC_TABLES);
  const db = drizzle({ client });
  return {
    database: sqlite(own, { joins: drizzleSqlite(db) }),
    transaction: (work) => db.transaction(work),
    nested: (tx, work) => tx.transaction(work),
    write: (tx, text) => tx.insert(notes).values({ text }).run(),
    rows: (text) => client.prepare(text).all(),
    roots: () => ({ db }),
    close() {
      client.close();
      own.close();
    },
  };
});

type NodeTx = Parameters<Parameters<ReturnType<typeof drizzleNode>["transaction"]>[0]>[0];

/** The driver is in the release candidates of Drizzle 1.0. */
export const onDrizzleNodeSqlite: SyncClient = syncClient<NodeTx>("Drizzle over node:sqlite", (file) => {
  const [client, own] = [new DatabaseSync(file), new DatabaseSync(file)];
  client.exec(SYNC_TABLES);
  const db = drizzleNode({ client });
  return {
    database: sqlite(own, { joins: drizzleSqlite(db) }),
    // Drizzle's type refuses a generic result, which might be a promise.
    transaction: (work) => db.transaction(work as (tx: NodeTx) => never),
    nested: (tx, work) => tx.transaction(work as (inner: NodeTx) => never),
    write: (tx, text) => tx.run(statement`insert into notes values (${text})`),
    rows: (text) => client.prepare(text).all(),
    roots: () => ({ db }),
    close() {
      client.close();
      own.close();
    },
  };
});
