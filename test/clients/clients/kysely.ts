import { kysely } from "amends/kysely";
import { CamelCasePlugin, Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";
import { testClient, type TestClient } from "../client.ts";

interface Tables {
  notes: { text: string };
}

/** With the plugin that renames columns. */
export const onKysely: TestClient = testClient<Transaction<Tables>>("kysely", async (url, max) => {
  const pool = new pg.Pool({ connectionString: url, max });
  pool.on("error", () => undefined);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] });
  const joins = kysely(db);
  return {
    joins,
    kind: joins,
    transaction: (work) => db.transaction().execute(work),
    // Kysely nests in a transaction that is controlled by hand.
    async nested(tx, work) {
      const name = "inner_work";
      const { sql } = await import("kysely");
      await sql.raw(`savepoint ${name}`).execute(tx);
      try {
        return await work(tx);
      } catch (error) {
        await sql.raw(`rollback to savepoint ${name}`).execute(tx);
        throw error;
      }
    },
    write: (tx, text) => tx.insertInto("notes").values({ text }).execute(),
    async roots() {
      const controlled = await db.startTransaction().execute();
      await controlled.rollback().execute();
      let left: unknown;
      await db.transaction().execute(async (trx) => void (left = trx));
      return { db, ended: controlled, left };
    },
    close: () => db.destroy(),
  };
});
