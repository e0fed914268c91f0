// What it costs to deliver waiting webhooks when the tables are empty, and when a million finished deliveries are in them:
// two databases, in turns. Nothing is sent, so that the claim weighs as much as it can.
import pg from "pg";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";

const sender = {
  send: async () => ({ ok: true, code: "http_200", status: 200, durationMs: 0 }),
  checkUrl: () => undefined,
  close: async () => undefined,
};

const events = 20;

export async function open({ emptyUrl, filledUrl, finished }) {
  const empty = await openOne(emptyUrl);
  const filled = await openOne(filledUrl);
  await fill(filledUrl, finished);
  return {
    slice: async () => ({
      empty_us_per_delivery: await empty.drain(),
      beside_finished_us_per_delivery: await filled.drain(),
    }),
    async close() {
      await empty.close();
      await filled.close();
    },
  };
}

async function openOne(url) {
  const amends = new Amends({ database: postgres({ url }), webhooks: { sender, concurrency: 500 } });
  await amends.migrate();
  for (let n = 0; n < 50; n++)
    await amends.webhooks.subscribe({ url: `https://${n}.example`, events: ["*"], concurrency: 10 });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const worker = amends.worker();
  return {
    /** @returns {Promise<number>} microseconds per delivery */
    async drain() {
      await client.query("begin");
      for (let n = 0; n < events; n++)
        await amends.webhooks.publish({ type: "order.placed", data: { n } }, { tx: client });
      await client.query("commit");
      const begun = performance.now();
      while ((await worker.runOnce()) > 0);
      return ((performance.now() - begun) * 1000) / (events * 50);
    },
    async close() {
      await client.end();
      await amends.close();
    },
  };
}

/** Finished deliveries with their events, jobs and attempts, as the library leaves them. */
async function fill(url, count) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("set search_path to amends");
  await client.query(
    `insert into webhook_events (event_key, type, attributes, payload, created_at)
     select 'old-' || n, 'order.placed', '{}', '{}', now() from generate_series(1, $1::int) as n`,
    [Math.ceil(count / 50)],
  );
  await client.query(
    `insert into webhook_delivery_sagas (event_id, subscription_id, status, attempt_count, attempt_max, created_at, updated_at)
     select e.id, p.id, 'Completed', 1, 20, now(), now()
     from webhook_events as e cross join webhook_subscriptions as p where e.event_key like 'old-%' limit $1::int`,
    [count],
  );
  await client.query(
    `insert into webhook_jobs (saga_id, event_id, subscription_id, attempt, status, report, created_at, finished_at)
     select id, event_id, subscription_id, 1, 'Completed', gen_random_uuid(), now(), now() from webhook_delivery_sagas
     where id not in (select saga_id from webhook_jobs)`,
  );
  await client.query("analyze");
  await client.query("checkpoint");
  await client.end();
}
