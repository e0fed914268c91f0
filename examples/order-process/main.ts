/** Four orders: one is paid at once and later returned, one needs an approval, one is never paid, and one is sold out. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Amends } from "amends";
import { openSqlite, sqlite } from "amends/sqlite";
import { virtualClock } from "amends/testing";
import { approved, PaymentReceived, placeOrder, shipOrder } from "./sagas.ts";
import { Shop } from "./shop.ts";

const DAY_MS = 86_400_000;

const shop = new Shop(["unicorn"]);
const ship = shipOrder(shop);
const place = placeOrder(shop, ship);

const folder = mkdtempSync(path.join(tmpdir(), "amends-example-"));
const file = path.join(folder, "shop.db");
// Time is moved by hand, so that weeks pass at once.
const clock = virtualClock();
const amends = new Amends({ database: sqlite(file, { clock }), sagas: [place, ship], events: [] });
await amends.migrate();
const handle = openSqlite(file);
handle.exec("create table orders (id text primary key, state text not null)");

/** Does whatever is due now. */
async function work(): Promise<void> {
  while ((await amends.worker().runOnce()) > 0);
}

/** The row of the order and its saga exist together, or neither does. */
async function order(orderId: string, ...items: { sku: string; cents: number }[]): Promise<void> {
  handle.exec("begin immediate");
  handle.prepare("insert into orders values (?, 'placed')").run(orderId);
  await amends.start(place, { orderId, items }, { id: orderId, tx: handle });
  handle.exec("commit");
  await work();
}

async function pay(orderId: string, cents: number): Promise<void> {
  await amends.events.publish(PaymentReceived({ orderId, cents }));
  await work();
}

async function show(orderId: string): Promise<void> {
  const view = await amends.inspect(orderId);
  const [row] = handle.prepare("select state from orders where id = ?").all(orderId) as { state: string }[];
  const waits = view?.waiting ? `, waits for ${view.waiting.kind} ${view.waiting.for ?? ""}`.trimEnd() : "";
  console.log(`${orderId}: ${view?.status}${waits}; the order is ${row?.state}`);
}

// Two items, reserved one beside the other. The payment ends the wait at once, and the order ships as a saga of its own.
await order("o-1", { sku: "lamp", cents: 4_000 }, { sku: "bulb", cents: 500 });
await pay("o-1", 4_500);
await show("o-1");

// Above 500 euros a person has to approve.
await order("o-2", { sku: "sofa", cents: 90_000 });
await show("o-2");
await amends.signal("o-2", approved, { by: "ann" });
await work();
await pay("o-2", 90_000);
await show("o-2");

// Nobody pays this one: five reminders, three days apart, and the order is taken back.
await order("o-3", { sku: "desk", cents: 20_000 });
for (let reminder = 1; reminder <= 6; reminder++) {
  clock.jump(3 * DAY_MS);
  await work();
}
await show("o-3");

// One item of this order is sold out: the one that was reserved is released.
await order("o-4", { sku: "vase", cents: 700 }, { sku: "unicorn", cents: 1 });
await show("o-4");
console.log(shop.books);

// The first order comes back. What is undone is what was done: the parcel, the label, the payment, the invoice, the items.
const reversal = await amends.reverse("o-1", { reason: "the customer sent it back", by: "ann" });
await work();
console.log(`${reversal.id}: ${await reversal.status()}`);
await show("o-1");
console.log(shop.books);
for (const mail of shop.mails) console.log(`mail: ${mail}`);

await amends.close();
handle.close();
rmSync(folder, { recursive: true });
