// A queue of sagas that is already recorded, and so many worker processes that run it empty.
import { fork } from "node:child_process";
import pg from "pg";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { five } from "./trivial-sagas.mjs";

const batch = 1_000;

export async function open({ url, processes, quick }) {
  const amends = new Amends({ database: postgres({ url }), sagas: [five] });
  await amends.migrate();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const workers = Array.from({ length: processes }, () =>
    fork(new URL("./queue-worker.mjs", import.meta.url), [url]),
  );
  const all = (said) => {
    const answers = workers.map((one) => new Promise((resolve) => one.once("message", resolve)));
    for (const one of workers) one.send(said);
    return Promise.all(answers);
  };
  const sagas = quick ? 10 * batch : 20 * batch;
  let n = 0;
  return {
    async slice() {
      for (const last = n + sagas; n < last; n += batch)
        await amends.startMany(
          five,
          Array.from({ length: batch }, (_, index) => ({ id: `s-${n + index}`, input: { n: n + index } })),
        );
      const begun = performance.now();
      await all("work");
      while ((await openSagas()) > 0) await new Promise((resolve) => setTimeout(resolve, 10));
      const seconds = (performance.now() - begun) / 1_000;
      await all("rest");
      return { sagas_total: sagas, sagas_per_s: sagas / seconds };
    },
    async close() {
      for (const one of workers) one.kill();
      await client.end();
      await amends.close();
    },
  };

  async function openSagas() {
    const { rows } = await client.query(
      "select count(*)::int as open from amends.saga_executions where status in ('PENDING', 'RUNNING')",
    );
    return rows[0].open;
  }
}
