// Calls of the user's own through the outbox: claimed, made and settled, as the peers do it, without audit events and
// completion. They are enqueued by copying one that the library wrote, as nobody enqueues a hundred thousand one by one.
import pg from "pg";
import { defineCall } from "../../dist/calls.js";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { countdown, drainSide, sliceEntries } from "../drain.mjs";

const anything = {
  "~standard": { version: 1, vendor: "amends-bench", validate: (value) => ({ value }) },
};

export async function open({ url, quick, batch = 500 }) {
  const { reached, count } = countdown();
  const nothing = defineCall("nothing", { schema: anything, handle: async () => count() });
  const amends = new Amends({ database: postgres({ url }), calls: [nothing] });
  await amends.migrate();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return drainSide(sliceEntries(quick), {
    async enqueue(from, to) {
      await client.query("begin");
      const { entryId } = await amends.calls.enqueue(nothing, { ref: `ref-${from}` }, { tx: client });
      await client.query(
        `insert into amends.outbox (entry_id, kind, lane, name, payload, enqueued_at)
         select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, kind, lane, name, payload, enqueued_at
         from amends.outbox, generate_series($2::int + 1, $3::int - 1) as n where entry_id = $1`,
        [entryId, from, to],
      );
      await client.query("commit");
    },
    async drain(entries) {
      const done = reached(entries);
      const worker = amends.worker({ concurrency: 2 * batch });
      await worker.start();
      await done;
      await worker.stop();
    },
    async left() {
      const { rows } = await client.query(
        "select count(*)::int as left from amends.outbox where status <> 'succeeded'",
      );
      return rows[0].left;
    },
    async close() {
      await client.end();
      await amends.close();
    },
  });
}
