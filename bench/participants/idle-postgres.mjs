// A worker with every part and nothing to do: what it asks the database, by the database's own count of transactions. A statement
// outside of a transaction is one.
import pg from "pg";
import { defineCall } from "../../dist/calls.js";
import { dataMap } from "../../dist/erasure.js";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { chain, note } from "./trivial-events.mjs";
import { five, numbered } from "./trivial-sagas.mjs";

const windowMs = 20_000;

export async function open({ url, monitorUrl }) {
  const amends = new Amends({
    database: postgres({ url }),
    sagas: [five],
    events: [chain, note],
    calls: [defineCall("nothing", { schema: numbered, handle: async () => undefined })],
    webhooks: {},
    erasure: { dataMap: dataMap({ subjects: { subject: "id" } }), resolvers: [] },
    retention: { sagas: "30d", flows: "30d", outbox: "30d", webhooks: "30d" },
  });
  await amends.migrate();
  const client = new pg.Client({ connectionString: monitorUrl });
  await client.connect();
  const name = new URL(url).pathname.slice(1);
  const transactions = async () => {
    await client.query("select pg_stat_clear_snapshot()");
    const { rows } = await client.query(
      "select xact_commit + xact_rollback as count from pg_stat_database where datname = $1",
      [name],
    );
    return Number(rows[0].count);
  };
  const worker = amends.worker();
  await worker.start();
  return {
    async slice() {
      const before = await transactions();
      const begun = performance.now();
      await new Promise((resolve) => setTimeout(resolve, windowMs));
      const count = (await transactions()) - before;
      return { statements_per_s: (count * 1_000) / (performance.now() - begun) };
    },
    async close() {
      await worker.stop();
      await amends.close();
      await client.end();
    },
  };
}
