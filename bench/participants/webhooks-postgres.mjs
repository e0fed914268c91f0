// Webhooks to a receiver in another process: bare undici, and deliveries through the library with one worker.
import pg from "pg";
import { Agent } from "undici";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";

const subscriptions = 100;
const body = JSON.stringify({ type: "order.placed", data: { orderId: "o-1", note: "x".repeat(200) } });
const sending = { allowHttp: true, allowPorts: "any", allowNetworks: ["127.0.0.1"] };

/** Tables and subscriptions, and an amount of published events that nobody has delivered yet. */
export async function prepare({ url, port, events, dead = false, each = 10 }) {
  const amends = new Amends({ database: postgres({ url }), webhooks: { sending } });
  await amends.migrate();
  for (let n = 0; n < subscriptions; n++) {
    const path = dead && n === 0 ? "dead" : "hook";
    await amends.webhooks.subscribe({
      url: `http://127.0.0.1:${port}/${path}/${n}`,
      events: ["*"],
      concurrency: each,
    });
  }
  await publish(amends, url, events);
  await amends.close();
}

async function publish(amends, url, events) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("begin");
  for (let n = 0; n < events; n++)
    await amends.webhooks.publish(client, { type: "order.placed", data: { n, note: "x".repeat(200) } });
  await client.query("commit");
  await client.end();
}

/** Delivers what was prepared; the one subscription that is dead is not waited for. */
async function deliver({ url, events, dead = false, concurrency = 1000 }) {
  const amends = new Amends({ database: postgres({ url }), webhooks: { sending, concurrency } });
  const expected = events * (subscriptions - (dead ? 1 : 0));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const arrived = async () =>
    (await client.query("select count(*)::int as n from amends.webhook_attempts where ok")).rows[0].n;
  const worker = amends.worker({ poll: "250ms" });
  const begun = performance.now();
  const cpu = process.cpuUsage();
  await worker.start();
  for (let count = 0; count < expected; count = await arrived()) await pause(100);
  const seconds = (performance.now() - begun) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  await worker.stop({ deadline: 0 });
  await amends.close();
  await client.end();
  return {
    deliveries: expected,
    deliveries_per_s: expected / seconds,
    cpu_us_per_delivery: (user + system) / expected,
  };
}

/** The same client and the same number of connections, with nothing around them. */
async function bare({ port, requests, lanes = 256 }) {
  const agent = new Agent({ connections: 32, pipelining: 1 });
  let left = requests;
  const drive = async () => {
    while (left-- > 0) {
      const path = `/hook/${left % subscriptions}`;
      const headers = { "content-type": "application/json" };
      const answer = await agent.request({
        origin: `http://127.0.0.1:${port}`,
        path,
        method: "POST",
        headers,
        body,
      });
      await answer.body.text();
    }
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: lanes }, drive));
  const seconds = (performance.now() - begun) / 1000;
  await agent.close();
  return { requests_per_s: requests / seconds };
}

/** One of these in a process of its own. */
export const run = ({ what, ...options }) => ({ bare, deliver })[what](options);

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
