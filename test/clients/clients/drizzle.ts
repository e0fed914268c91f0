import { drizzle as joinDrizzle } from "amends/drizzle";
import { drizzle as drizzlePg, type NodePgDatabase } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import { drizzle as drizzlePostgresJs, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import pg from "pg";
import postgresJs from "postgres";
import { testClient, type TestClient } from "../client.ts";

/** The transactions of a database of Drizzle. */
type TxOf<Db extends { transaction: (work: never) => unknown }> = Parameters<
  Parameters<Db["transaction"]>[0]
>[0];

const notes = pgTable("notes", { text: text("text").notNull() });

export const onDrizzlePg: TestClient = testClient<TxOf<NodePgDatabase>>(
  "drizzle over node-postgres",
  async (url, max) => {
    const pool = new pg.Pool({ connectionString: url, max });
    pool.on("error", () => undefined);
    const db = drizzlePg({ client: pool });
    const joins = joinDrizzle(db);
    return {
      joins,
      kind: joins,
      transaction: (work) => db.transaction(work),
      nested: (tx, work) => tx.transaction(work),
      write: (tx, value) => tx.insert(notes).values({ text: value }),
      roots: async () => ({ db, "db.$client": db.$client, ended: await db.transaction(async (tx) => tx) }),
      close: () => pool.end(),
    };
  },
);

export const onDrizzlePostgresJs: TestClient = testClient<TxOf<PostgresJsDatabase>>(
  "drizzle over postgres.js",
  async (url, max) => {
    const sql = postgresJs(url, { max, onnotice: () => undefined });
    const db = drizzlePostgresJs({ client: sql });
    const joins = joinDrizzle(db);
    return {
      joins,
      kind: joins,
      transaction: (work) => db.transaction(work),
      nested: (tx, work) => tx.transaction(work),
      write: (tx, value) => tx.insert(notes).values({ text: value }),
      // postgres.js never answers a statement of a transaction that has ended.
      roots: async () => ({ db, "db.$client": db.$client }),
      close: () => sql.end(),
    };
  },
);
