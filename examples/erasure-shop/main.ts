/**
 * Ann wants to be forgotten, and Ben's address is misspelt. A shop, a Stripe, a newsletter service that is down and
 * a log system that only forgets after thirty days. On SQLite, or on the PostgreSQL that DATABASE_URL names. Time is
 * moved by hand, so that a month takes no time.
 */
import { Amends } from "amends";
import { httpResolver, stripeResolver } from "amends/erasure";
import { virtualClock } from "amends/testing";
import { Stripe } from "stripe";
import { openDatabase } from "./database.ts";
import { openOutside } from "./outside.ts";
import { tables, whereDataIs } from "./shop.ts";

const DAY_MS = 86_400_000;
const clock = virtualClock(Date.UTC(2030, 0, 1));
const outside = await openOutside(clock.virtualNowMs);
const shop = await openDatabase(process.env["DATABASE_URL"], clock);
await shop.exec(tables(shop.dialect));

const stripe = new Stripe("sk_test_example", {
  host: "127.0.0.1",
  port: outside.port,
  protocol: "http",
  telemetry: false,
});
const amends = new Amends({
  database: shop.database,
  erasure: {
    dataMap: whereDataIs,
    resolvers: [
      stripeResolver(stripe),
      httpResolver({
        name: "newsletter",
        erase: { url: `${outside.url}/subscribers/{value}` },
        rectify: { url: `${outside.url}/subscribers/{value}` },
      }),
      httpResolver({
        name: "logs",
        schedule: { url: `${outside.url}/logs/{value}`, expiresAt: "expires_at" },
      }),
    ],
    retry: { attempts: 3 },
    onAbandoned: ({ resolver, attempts, error }) =>
      console.log(`page: ${resolver} gave up after ${attempts} tries, ${error}`),
  },
});
await amends.migrate();
const { erasure } = amends;
await erasure.check(); // a map that does not fit the tables is told here, not when somebody asks to be forgotten

// In a service this is `await amends.worker().start()`. Here each look is made by hand.
const worker = amends.worker();
async function look(days: number): Promise<void> {
  clock.jump(days * DAY_MS);
  await worker.runOnce();
  const counts = Object.entries(await erasure.outbox.statusCounts()).filter(([, count]) => count > 0);
  const today = new Date(clock.virtualNowMs()).toISOString().slice(0, 10);
  console.log(`${today}: ${counts.map(([status, count]) => `${count} ${status}`).join(", ")}`);
}

console.log("Ann asks to be erased.");
const report = await shop.transaction((tx) =>
  erasure.eraseSubject(
    "u-ann",
    [
      { kind: "stripe", value: "cus_ann" },
      { kind: "newsletter", value: "n-ann" },
      { kind: "logs", value: "u-ann" },
    ],
    { tx },
  ),
);
console.log(`deleted ${JSON.stringify(report.deleted)}, anonymized ${JSON.stringify(report.anonymized)}`);
for (const { table, column, rows, until, legalBasis } of report.retained) {
  console.log(
    `retained ${rows} of ${table}.${column} until ${until?.toISOString().slice(0, 10)} (${legalBasis})`,
  );
}
console.log(JSON.stringify(await shop.rows("select id, name from users order by id")));

await look(0); // Stripe is done, the logs name their day, the newsletter does not answer
await look(1);
await look(1); // its last try
await look(29); // the logs have expired, and that is verified
for (const item of (await amends.attention.list()).items)
  console.log(`attention: ${item.kind}, ${item.reason}`);

console.log("The newsletter service is back.");
outside.isNewsletterDown = false;
const { entries } = await erasure.outbox.listAbandoned();
await erasure.outbox.requeue(
  entries.map(({ entryId }) => entryId),
  { by: "operator", reason: "the newsletter is back" },
);
await look(0);
console.log("needing a person:", (await amends.attention.list()).items.length);
for (const { type, payload } of await erasure.trail("u-ann"))
  console.log(`  ${type}`, payload["resolver"] ?? "");
console.log(
  "left of Ann:",
  (await erasure.verifySubject("u-ann")).left.length,
  "in the shop,",
  outside.customers.has("cus_ann"),
  "at Stripe",
);

console.log("Ben's address is misspelt.");
await shop.transaction((tx) =>
  erasure.rectifySubject(
    "u-ben",
    [{ category: "email", value: "ben@example.org" }],
    [
      { kind: "stripe", value: "cus_ben" },
      { kind: "newsletter", value: "n-ben" },
      { kind: "logs", value: "u-ben" },
    ],
    { tx },
  ),
);
await look(0);
const everywhere = [
  ...(await shop.rows("select email from users where id = 'u-ben'")),
  outside.customers.get("cus_ben"),
  outside.subscribers.get("n-ben"),
];
console.log(`corrected ${everywhere.map((one) => (one as { email?: string }).email).join(", ")}`);
for (const { type, payload } of await erasure.trail("u-ben"))
  console.log(`  ${type}`, payload["resolver"] ?? "");

await erasure.cleanUp(); // SQLite: not a byte of it is left in the file; a worker that runs does it by itself
await amends.close();
await shop.close();
await outside.close();
