// Calls of the user's own through the outbox: claimed, made and settled, without audit events or completion.
import pg from "pg";
import { Amends, Calls, defineCall } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { countdown, measureDrain } from "../drain.mjs";

const anything = {
  "~standard": { version: 1, vendor: "amends-bench", validate: (value) => ({ value }) },
};

export async function run({ url, entries, batch }) {
  const amends = new Amends({ database: postgres({ url }), sagas: [] });
  await amends.migrate();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { done, count } = countdown(entries);
  const nothing = defineCall("nothing", { schema: anything, handle: async () => count() });
  const calls = new Calls(amends, { calls: [nothing] }).attach();
  const worker = amends.worker({ concurrency: batch });
  const figures = await measureDrain(entries, {
    async enqueue(from, to) {
      await client.query("begin");
      await calls.enqueue(client, nothing, { ref: `ref-${from}` });
      await client.query(
        `insert into amends.outbox (entry_id, kind, name, payload, enqueued_at)
         select gen_random_uuid(), kind, name, payload, enqueued_at from amends.outbox, generate_series(1, $1::int - 1)
         where entry_id = (select entry_id from amends.outbox limit 1)`,
        [to - from],
      );
      await client.query("commit");
    },
    async drain() {
      await worker.start();
      await done;
      await worker.stop();
    },
  });
  await client.end();
  await amends.close();
  return figures;
}
