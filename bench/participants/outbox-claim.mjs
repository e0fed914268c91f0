// What a claim of 500 entries costs when the outbox is empty but for them, and when a million finished ones are in it: two
// databases, in turns. And what it costs to count that million by status.
import pg from "pg";
import { DatabaseAuditSink } from "../../dist/audit.js";
import { Outbox } from "../../dist/erasure.js";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { numbers } from "../drain.mjs";
import { median } from "../statistics.mjs";

const claims = 10;
const batch = 500;

export async function open({ emptyUrl, filledUrl, finished }) {
  const empty = await openOne(emptyUrl);
  const filled = await openOne(filledUrl);
  await filled.claim();
  await filled.fill(finished);
  return {
    slice: async () => ({
      empty_us_per_entry: await empty.claim(),
      beside_finished_us_per_entry: await filled.claim(),
      ...(await filled.counting()),
    }),
    async close() {
      await empty.close();
      await filled.close();
    },
  };
}

async function openOne(url) {
  const database = postgres({ url });
  const amends = new Amends({ database, sagas: [] });
  await amends.migrate();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const outbox = new Outbox(database, { audit: new DatabaseAuditSink(database) });
  let enqueued = 0;
  return {
    /** @returns {Promise<number>} the median of the claims, in microseconds per entry */
    async claim() {
      await client.query("begin");
      await outbox.enqueue(client, numbers(enqueued, (enqueued += claims * batch), entry));
      await client.query("commit");
      const took = [];
      for (let n = 0; n < claims; n++) {
        const begun = performance.now();
        const claimed = await outbox.claimBatch(batch);
        took.push(((performance.now() - begun) * 1000) / batch);
        if (claimed.length !== batch) throw new Error(`${claimed.length} entries were claimed.`);
      }
      await client.query(
        "update amends.outbox set status = 'succeeded', next_attempt_at = null where status = 'in_flight'",
      );
      return median(took);
    },
    async fill(finished) {
      await client.query(
        `insert into amends.outbox (entry_id, kind, name, subject_id, operation, ref_kind, ref_value, status, attempts, token,
           enqueued_at, last_attempt_at)
         select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, kind, name, 'finished-' || n, operation,
           ref_kind, ref_value, status, attempts, token, enqueued_at, last_attempt_at
         from generate_series(1, $1::int) as n, (select * from amends.outbox where status = 'succeeded' limit 1) as original`,
        [finished],
      );
      await client.query("vacuum analyze amends.outbox");
      await client.query("checkpoint");
    },
    async counting() {
      const query = database.query.bind(database);
      let statements = 0;
      database.query = (statement) => {
        statements += 1;
        return query(statement);
      };
      const begun = performance.now();
      const { succeeded } = await outbox.statusCounts();
      const took = performance.now() - begun;
      database.query = query;
      return { counted: succeeded, status_counts_ms: took, status_counts_statements: statements };
    },
    async close() {
      await client.end();
      await amends.close();
    },
  };
}

function entry(n) {
  return {
    subjectId: `subject-${n}`,
    resolver: "nothing",
    ref: { kind: "nothing", value: `ref-${n}` },
    operation: "erase",
  };
}
