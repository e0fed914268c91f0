import { EntitySchema, MikroORM, type SqlEntityManager } from "@mikro-orm/postgresql";
import { mikroOrm } from "amends/mikro-orm";
import { testClient, type TestClient } from "../client.ts";

const Note = new EntitySchema({
  name: "Note",
  tableName: "notes",
  properties: { text: { type: "text", primary: true } },
});

export const onMikroOrm: TestClient = testClient<SqlEntityManager>("mikro-orm", async (url, max) => {
  const orm = await MikroORM.init({ clientUrl: url, entities: [Note], pool: { min: 0, max } });
  const joins = mikroOrm(orm);
  return {
    joins,
    kind: joins,
    transaction: (work) => orm.em.fork().transactional(work),
    nested: (tx, work) => tx.transactional(work),
    write: (tx, text) => tx.insert("Note", { text }),
    async roots() {
      let ended: unknown;
      await orm.em.fork().transactional(async (em) => void (ended = em));
      return { "orm.em": orm.em, fork: orm.em.fork(), ended };
    },
    close: () => orm.close(true),
  };
});
