import { sequelize as joinSequelize } from "amends/sequelize";
import { Sequelize, type Transaction } from "sequelize";
import { testClient, type TestClient } from "../client.ts";

export const onSequelize: TestClient = testClient<Transaction>("sequelize", async (url, max) => {
  const db = new Sequelize(url, { logging: false, pool: { max } });
  const joins = joinSequelize(db);
  return {
    joins,
    kind: joins,
    transaction: (work) => db.transaction(work),
    nested: (tx, work) => db.transaction({ transaction: tx }, work),
    write: (tx, text) => db.query("insert into notes (text) values ($1)", { bind: [text], transaction: tx }),
    async roots() {
      const ended = await db.transaction();
      await ended.commit();
      return { sequelize: db, ended };
    },
    close: () => db.close(),
  };
});
