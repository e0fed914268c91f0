import { postgresJs } from "amends/postgres-js";
import postgres, { type TransactionSql } from "postgres";
import { testClient, type TestClient } from "../client.ts";

/** With the transformation that renames columns. */
export const onPostgresJs: TestClient = testClient<TransactionSql>("postgres.js", async (url, max) => {
  const sql = postgres(url, { max, onnotice: () => undefined, transform: postgres.camel });
  const joins = postgresJs(sql);
  return {
    joins,
    kind: joins,
    transaction: async <T>(work: (tx: TransactionSql) => Promise<T>) => (await sql.begin(work)) as T,
    nested: async <T>(tx: TransactionSql, work: (inner: TransactionSql) => Promise<T>) =>
      (await tx.savepoint(work)) as T,
    write: async (tx, text) => tx`insert into notes (text) values (${text})`,
    async roots() {
      const reserved = await sql.reserve();
      reserved.release();
      return { sql, reserved };
    },
    close: () => sql.end(),
  };
});
