// Webhooks to a receiver in another process: bare undici, and deliveries through the library with one worker.
import { createHmac, createSecretKey } from "node:crypto";
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
    await amends.webhooks.publish(
      { type: "order.placed", data: { n, note: "x".repeat(200) } },
      { tx: client },
    );
  await client.query("commit");
  await client.end();
}

/**
 * Delivers what was prepared; the one subscription that is dead is not waited for. What counts begins once a quarter has
 * arrived: before that, the process is still translating its own code. The receiver is asked how many have arrived,
 * because counting rows again and again would be work of the database that nobody else has.
 */
async function deliver({ url, port, events, dead = false, concurrency = 1000 }) {
  const amends = new Amends({ database: postgres({ url }), webhooks: { sending, concurrency } });
  const expected = events * (subscriptions - (dead ? 1 : 0));
  const receiver = new Agent();
  const before = await answered(receiver, port);
  const arrived = async () => (await answered(receiver, port)) - before;
  const worker = amends.worker({ poll: "250ms" });
  await worker.start();
  const begin = await reached(arrived, expected / 4);
  await reached(arrived, expected);
  await allBooked(url, expected);
  const end = { at: performance.now(), cpu: process.cpuUsage() };
  await worker.stop({ deadline: 0 });
  await amends.close();
  await receiver.close();
  const counted = expected - begin.count;
  return {
    deliveries: expected,
    deliveries_per_s: counted / ((end.at - begin.at) / 1000),
    cpu_us_per_delivery: (cpuUs(end.cpu) - cpuUs(begin.cpu)) / counted,
  };
}

async function reached(arrived, wanted) {
  let count = await arrived();
  for (; count < wanted; count = await arrived()) await pause(25);
  return { count, at: performance.now(), cpu: process.cpuUsage() };
}

async function answered(agent, port) {
  const answer = await agent.request({ origin: `http://127.0.0.1:${port}`, path: "/count", method: "GET" });
  return Number(await answer.body.text());
}

/** An event that has arrived counts as delivered once the database says so. */
async function allBooked(url, expected) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const recorded = async () =>
    (await client.query("select count(*)::int as n from amends.webhook_attempts where ok")).rows[0].n;
  while ((await recorded()) < expected) await pause(25);
  await client.end();
}

function cpuUs({ user, system }) {
  return user + system;
}

/**
 * The same client, the same number of connections, and the same requests: a body that is signed for its receiver. With
 * nothing around them, and nothing on record. As many again go before what counts.
 */
async function bare({ port, requests, lanes = 256, signed = true }) {
  const agent = new Agent({ connections: 32, pipelining: 1 });
  const plain = { "content-type": "application/json", "user-agent": "bare" };
  const key = createSecretKey(Buffer.alloc(24, 7));
  const signedHeaders = (id) => {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    return {
      ...plain,
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    };
  };
  let left = 0;
  const drive = async () => {
    while (left-- > 0) {
      const path = `/hook/${left % subscriptions}`;
      const headers = signed ? signedHeaders(`evt_${left}`) : plain;
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
  const all = () => {
    left = requests;
    return Promise.all(Array.from({ length: lanes }, drive));
  };
  await all();
  const begun = { at: performance.now(), cpu: process.cpuUsage() };
  await all();
  const seconds = (performance.now() - begun.at) / 1000;
  const cpu = cpuUs(process.cpuUsage(begun.cpu));
  await agent.close();
  return { requests_per_s: requests / seconds, cpu_us_per_request: cpu / requests };
}

/** One of these in a process of its own. */
export const run = ({ what, ...options }) => ({ bare, deliver })[what](options);

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
