// Webhooks through the library to a receiver in another process: events are published first, which is not measured, then one
// worker delivers them to a hundred subscriptions.
import pg from "pg";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { subscriptions, webhookData } from "../webhook-work.mjs";
import { startReceiver } from "../receiver-process.mjs";

const sending = { allowHttp: true, allowPorts: "any", allowNetworks: ["127.0.0.1"] };

export async function open({ url, quick, dead = false, concurrency = 1000, lone = false }) {
  const receiver = await startReceiver();
  const webhooks = { sending, concurrency: lone ? 1 : concurrency };
  const amends = new Amends({ database: postgres({ url }), webhooks });
  await amends.migrate();
  for (let n = 0; n < subscriptions; n++) {
    const path = dead && n === 0 ? "dead" : "hook";
    const to = `${receiver.origin}/${path}/${n}`;
    await amends.webhooks.subscribe({ url: to, events: ["*"], concurrency: 10 });
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const events = lone ? 2 : quick ? 60 : 150;
  let expected = 0;
  return {
    async slice() {
      await publish(amends, client, events);
      // The subscription that is dead is not waited for.
      const deliveries = events * (subscriptions - (dead ? 1 : 0));
      expected += deliveries;
      const begun = { at: performance.now(), cpu: process.cpuUsage() };
      const worker = amends.worker({ poll: "250ms" });
      await worker.start();
      while ((await receiver.answered()) < expected) await pause(10);
      await allRecorded(client, expected);
      const seconds = (performance.now() - begun.at) / 1000;
      const { user, system } = process.cpuUsage(begun.cpu);
      await worker.stop({ deadline: 0 });
      return {
        sagas_total: deliveries,
        deliveries_per_s: deliveries / seconds,
        cpu_us_per_delivery: (user + system) / deliveries,
      };
    },
    async close() {
      await client.end();
      await amends.close();
      receiver.stop();
    },
  };
}

async function publish(amends, client, events) {
  await client.query("begin");
  for (let n = 0; n < events; n++)
    await amends.webhooks.publish({ type: "order.placed", data: { ...webhookData, n } }, { tx: client });
  await client.query("commit");
}

/** A delivery counts once the database says so. */
async function allRecorded(client, expected) {
  const recorded = async () =>
    (await client.query("select count(*)::int as n from amends.webhook_attempts where ok")).rows[0].n;
  while ((await recorded()) < expected) await pause(10);
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
