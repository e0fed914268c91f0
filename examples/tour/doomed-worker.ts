/** The process that the tour kills: it works on one order, and never hears the payment service's answer. */
import { Shop } from "./shop/shop.ts";

const [folder = "", outsideUrl = "", id = ""] = process.argv.slice(2);

// The tour is gone: there is nobody left to kill this process.
process.once("disconnect", () => process.exit());

const { amends, placeOrder } = new Shop(folder, outsideUrl);
await amends.worker().start();
await amends.start(placeOrder, { customer: "u-dan", sku: "tea", cents: 1_900, address: "Quito" }, { id });
