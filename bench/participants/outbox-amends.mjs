// Erasures through the whole of the outbox: each entry is claimed, called and settled with an audit event in the same
// transaction, and the last of its subject's four completes the request, with one event more.
import pg from "pg";
import { Amends } from "../../dist/index.js";
import { dataMap } from "../../dist/erasure.js";
import { postgres } from "../../dist/postgres.js";
import { countdown, drainSide, numbers, sliceEntries } from "../drain.mjs";

export async function open({ url, quick, batch = 500 }) {
  const { reached, count } = countdown();
  const nothing = {
    name: "nothing",
    async eraseSubject() {
      count();
      return {};
    },
  };
  const amends = new Amends({
    database: postgres({ url }),
    erasure: { dataMap: dataMap({ subjects: { subject: "id" } }), resolvers: [nothing] },
  });
  await amends.migrate();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { outbox } = amends.erasure;
  return drainSide(sliceEntries(quick), {
    async enqueue(from, to) {
      await client.query("begin");
      await outbox.enqueue(client, numbers(from, to, entry));
      await client.query("commit");
    },
    async drain(entries) {
      const done = reached(entries);
      // One batch is settled while the next is claimed and called.
      const worker = amends.worker({ concurrency: 2 * batch });
      await worker.start();
      await done;
      await worker.stop();
    },
    async left() {
      const counts = await outbox.statusCounts();
      return Object.values(counts).reduce((sum, value) => sum + value, -counts.succeeded);
    },
    async close() {
      await client.end();
      await amends.close();
    },
  });
}

/** How many outside systems know a subject. */
const systems = 4;

function entry(n) {
  return {
    subjectId: `subject-${Math.floor(n / systems)}`,
    resolver: "nothing",
    ref: { kind: "nothing", value: `ref-${n}` },
    operation: "erase",
  };
}
