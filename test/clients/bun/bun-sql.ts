/** Bun's SQL on PostgreSQL, and Drizzle over it. */
import { SQL, type TransactionSQL } from "bun";
import { bunSql } from "amends/bun-sql";
import { drizzle as joinDrizzle } from "amends/drizzle";
import { sql as statement } from "drizzle-orm";
import { drizzle, type BunSQLDatabase } from "drizzle-orm/bun-sql";
import { testClient, type TestClient } from "../client.ts";

export const onBunSql: TestClient = testClient<TransactionSQL>("Bun's SQL", async (url, max) => {
  const sql = new SQL(url, { max });
  const joins = bunSql(sql);
  return {
    joins,
    kind: joins,
    transaction: async <T>(work: (tx: TransactionSQL) => Promise<T>) => (await sql.begin(work)) as T,
    nested: async <T>(tx: TransactionSQL, work: (inner: TransactionSQL) => Promise<T>) =>
      (await tx.savepoint(work)) as T,
    write: (tx, text) => tx<unknown>`insert into notes (text) values (${text})`,
    async roots() {
      const reserved = await sql.reserve();
      await reserved.release();
      let ended: unknown;
      await sql.begin(async (tx) => {
        ended = tx;
      });
      return { sql, reserved, ended };
    },
    close: () => sql.close(),
  };
});

type DrizzleTx = Parameters<Parameters<BunSQLDatabase["transaction"]>[0]>[0];

export const onDrizzleBunSql: TestClient = testClient<DrizzleTx>(
  "Drizzle over Bun's SQL",
  async (url, max) => {
    const client = new SQL(url, { max });
    const db = drizzle({ client });
    const joins = joinDrizzle(db);
    return {
      joins,
      kind: joins,
      transaction: (work) => db.transaction(work),
      nested: (tx, work) => tx.transaction(work),
      write: (tx, text) => tx.execute(statement`insert into notes (text) values (${text})`),
      roots: async () => ({ db, client }),
      close: () => client.close(),
    };
  },
);
