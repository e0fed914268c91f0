/** An order over four services: stock, payment, parcel, mail. What was done is undone when a later service refuses. */
import { Amends } from "amends";
import { eventSaga, flowRunDiagram, step } from "amends/events";
import { sqlite } from "amends/sqlite";
import * as shop from "./services.ts";

const order = eventSaga("order", {
  trigger: shop.OrderPlaced,
  correlate: "orderId",
  deadline: "1d",
  steps: [
    step("reserve", shop.reserve, { compensation: shop.ReleaseStock }),
    step("charge", shop.charge, { compensation: shop.RefundPayment }),
    step("ship", shop.ship),
    step("tell", shop.tell),
  ],
  onCompleted: (orderId) => shop.OrderConfirmed({ orderId }),
  onFailed: (orderId, { error }) => shop.OrderRejected({ orderId, why: error }),
});

// The handlers that undo are registered like any others: then the saga waits for their answers.
const amends = new Amends({
  database: sqlite(":memory:"),
  events: [order, shop.release, shop.refund],
});
await amends.migrate();
await amends.worker().start();

for (const [orderId, cents, address] of [
  ["o-1", 1_200, "12 Elm Street"],
  ["o-2", 25_000, "12 Elm Street"],
  ["o-3", 900, "the moon"],
] as const) {
  const [run] = await amends.events.publish(shop.OrderPlaced({ orderId, sku: "tea", cents, address }));
  const status = await run?.ended();
  const view = await amends.events.inspect(run?.id ?? "");
  console.log(`${orderId} ${status}: ${view?.events.map(({ event }) => event).join(", ")}`);
  if (orderId === "o-3" && view) console.log(flowRunDiagram(view));
}
console.log(`tea left: ${shop.stock.get("tea")}, takings: ${shop.takings}`);
await amends.close();
