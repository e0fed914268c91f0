import { transaction as kind } from "amends/postgres";
import pg from "pg";
import { testClient, type OpenClient, type TestClient } from "../client.ts";

/** `pg` needs no adapter. */
export const onPg: TestClient = testClient<pg.ClientBase>("pg", async (url, max) => {
  const pool = new pg.Pool({ connectionString: url, max });
  pool.on("error", () => undefined);
  const open: OpenClient<pg.ClientBase> = {
    joins: undefined,
    kind,
    async transaction(work) {
      const client = await pool.connect();
      try {
        await client.query("begin");
        const result = await work(client);
        await client.query("commit");
        return result;
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        client.release();
      }
    },
    async nested(tx, work) {
      await tx.query("savepoint inner_work");
      try {
        return await work(tx);
      } catch (error) {
        await tx.query("rollback to savepoint inner_work");
        throw error;
      }
    },
    write: (tx, text) => tx.query("insert into notes (text) values ($1)", [text]),
    async roots() {
      const client = await pool.connect();
      client.release();
      return { pool, client, nothing: {} };
    },
    close: () => pool.end(),
  };
  return open;
});
