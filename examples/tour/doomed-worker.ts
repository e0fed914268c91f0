/** The process that the tour kills: it runs one order, and never gets past the payment service's answer. */
import path from "node:path";
import { openAmends, placeOrder } from "./place-order.ts";
import type { Message } from "./scenes/killed.ts";
import { Shop } from "./shop.ts";

const [folder = "", id = ""] = process.argv.slice(2);
const tell = (message: Message): void => void process.send?.(message);

// The tour is gone: there is nobody left to kill this process.
process.once("disconnect", () => process.exit());

const shop = new Shop({
  file: path.join(folder, "shop.json"),
  beforeAnswer: () => {
    tell({ kind: "charged" });
    return new Promise(() => undefined); // the answer never comes: the tour kills this process now
  },
});
const saga = placeOrder(shop);
const amends = openAmends(path.join(folder, "shop.db"), saga);
await amends.worker().start();
const run = await amends.start(saga, { sku: "tea", cents: 1_900, address: "Quito" }, { id });
for await (const step of run.stream()) tell({ kind: "step", name: step.name });
