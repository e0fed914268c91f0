import { knex as joinKnex } from "amends/knex";
import knex, { type Knex } from "knex";
import { testClient, type TestClient } from "../client.ts";

export const onKnex: TestClient = testClient<Knex.Transaction>("knex", async (url, max) => {
  const db = knex({ client: "pg", connection: url, pool: { min: 0, max } });
  const joins = joinKnex(db);
  return {
    joins,
    kind: joins,
    transaction: (work) => db.transaction(work),
    nested: (tx, work) => tx.transaction(work),
    write: (tx, text) => tx("notes").insert({ text }),
    async roots() {
      const ended = await db.transaction();
      await ended.commit();
      return { knex: db, ended };
    },
    close: () => db.destroy(),
  };
});
