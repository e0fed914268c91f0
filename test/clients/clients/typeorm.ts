import { typeorm } from "amends/typeorm";
import { DataSource, type EntityManager } from "typeorm";
import { testClient, type TestClient } from "../client.ts";

export const onTypeorm: TestClient = testClient<EntityManager>("typeorm", async (url, max) => {
  const dataSource = new DataSource({ type: "postgres", url, poolSize: max });
  await dataSource.initialize();
  const joins = typeorm(dataSource);
  return {
    joins,
    kind: joins,
    transaction: (work) => dataSource.transaction(work),
    nested: (tx, work) => tx.transaction(work),
    write: (tx, text) => tx.query("insert into notes (text) values ($1)", [text]),
    async roots() {
      const ended = await dataSource.transaction(async (manager) => manager);
      return { dataSource, "dataSource.manager": dataSource.manager, ended };
    },
    close: () => dataSource.destroy(),
  };
});
