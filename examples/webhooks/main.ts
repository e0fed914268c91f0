/** A shop tells its partners what happened: in the transaction that made it true, signed, and until they have it. */
import { Amends, type AmendsError } from "amends";
import { openSqlite, sqlite } from "amends/sqlite";
import { openReceivers } from "./receivers.ts";

const receivers = await openReceivers();
const handle = openSqlite(":memory:");
handle.exec("create table orders (id text primary key, region text)");
const amends = new Amends({
  database: sqlite(handle),
  webhooks: {
    retry: { attempts: 3, base: "20ms", cap: "100ms" }, // so that this program is over soon
    timeout: "10s",
    // This machine is no public address: it has to be allowed.
    sending: { allowHttp: true, allowPorts: "any", allowNetworks: ["127.0.0.1"] },
  },
});
await amends.migrate();
const { webhooks } = amends;

const kinds = ["healthy", "failing", "slow", "gone", "redirecting", "endless"];
const names = new Map<string, string>();
for (const kind of kinds) {
  const { id, secret } = await webhooks.subscribe({
    url: receivers.url(kind),
    events: ["order.*"],
    ...(kind === "healthy" && { filter: { region: "eu" } }),
    ...(kind === "slow" && { timeout: "200ms" }),
  });
  names.set(id, kind);
  if (kind === "healthy") receivers.secret = secret;
}

// A URL that leads inside is refused before anything is sent there.
for (const url of ["http://10.0.0.7/admin", "http://[::1]/", "http://169.254.169.254/"]) {
  await webhooks
    .subscribe({ url, events: ["*"] })
    .catch((error: AmendsError) => console.log(`${url}: ${error.code}`));
}

// The order and what its subscribers are owed are one commit.
handle.exec("begin");
handle.prepare("insert into orders values ('o-1', 'eu')").run();
await webhooks.publish(
  {
    type: "order.placed",
    id: "o-1-placed",
    data: { orderId: "o-1" },
    attributes: { region: "eu" },
  },
  { tx: handle },
);
handle.exec("commit");

handle.exec("begin");
await webhooks.publish({ type: "order.placed", id: "o-2-placed", data: { orderId: "o-2" } }, { tx: handle });
handle.exec("rollback");

const worker = amends.worker({ poll: "20ms" });
await worker.start();
const open = async (): Promise<boolean> =>
  (await webhooks.deliveries()).some(({ status }) => status !== "Completed" && status !== "DeadLettered");
while (await open()) await new Promise((resolve) => setTimeout(resolve, 20));

const report = async (): Promise<void> => {
  for (const delivery of (await webhooks.deliveries()).toReversed()) {
    const codes = (await webhooks.attempts(delivery.id)).map(({ code }) => code);
    console.log(`${names.get(delivery.subscriptionId)}: ${delivery.status} after ${codes.join(", ")}`);
  }
};
await report();
console.log(`healthy took ${receivers.taken.join(", ")}`);

// People see what was given up, and let it be tried again.
const { items } = await amends.attention.list();
for (const item of items) console.log(`needs a person: ${item.kind}, ${item.reason}`);
const [letter] = await webhooks.deadLetters();
if (letter)
  await webhooks.resend(letter.deliveryId, { reason: "the partner says that it is back", by: "ann" });
while (await open()) await new Promise((resolve) => setTimeout(resolve, 20));
console.log(
  `resent: ${(await webhooks.deliveries())[0]?.status}, generation ${(await webhooks.deliveries())[0]?.generation}`,
);

await amends.close();
receivers.close();
handle.close();
