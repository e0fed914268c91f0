/** better-sqlite3, and Drizzle over it. The library is compiled at its installation. */
import { drizzleSqlite } from "amends/drizzle";
import { sqlite, type SqliteHandle } from "amends/sqlite";
import Sqlite from "better-sqlite3";
import { drizzle, type BetterSQLite3Database } from "drizzle-orm/better-sqlite3";
import { sqliteTable, text as textColumn } from "drizzle-orm/sqlite-core";
import { SYNC_TABLES, syncClient, type SyncClient } from "../sync-client.ts";

const notes = sqliteTable("notes", { text: textColumn("text").primaryKey() });

type DrizzleTx = Parameters<Parameters<BetterSQLite3Database["transaction"]>[0]>[0];

export const onBetterSqlite3: SyncClient = syncClient<SqliteHandle>("better-sqlite3", (file) => {
  const [db, own] = [new Sqlite(file), new Sqlite(file)];
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

export const onDrizzleBetterSqlite3: SyncClient = syncClient<DrizzleTx>(
  "Drizzle over better-sqlite3",
  (file) => {
    const [client, own] = [new Sqlite(file), new Sqlite(file)];
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
  },
);
