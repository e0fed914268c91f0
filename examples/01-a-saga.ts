/** A saga, embedded: no server, no setup. Give a file as the first argument to keep it. */
import { Amends, err, ok, saga } from "amends";
import { sqlite } from "amends/sqlite";
import { z } from "zod";
import { carrier, mail, payments, warehouse } from "./shop.ts";

const order = z.object({ orderId: z.string(), sku: z.string(), cents: z.number().int() });

const placeOrder = saga("place-order", order)
  .step("reserve", {
    act: ({ input, key }) => warehouse.reserve(input.sku, key), // its value is typed into later steps
    compensate: ({ actKey }) => warehouse.release(actKey), // the key that the act was called with
  })
  .step("charge", {
    act: async ({ input, key, signal }) => {
      const charge = await payments.charge(input.cents, { key, signal });
      return charge.declined ? err("card-declined") : ok({ chargeId: charge.id });
    },
    compensate: ({ actKey }) => payments.refund(actKey),
    retry: { attempts: 5, base: "200ms", cap: "10s" },
    timeout: "30s",
  })
  .pivot("ship", { act: ({ results }) => carrier.book(results.reserve.id) })
  .step("email", { act: ({ input }) => mail.confirm(input.orderId) });

const amends = new Amends({ database: sqlite(process.argv[2] ?? ":memory:"), sagas: [placeOrder] });
await amends.migrate();
await amends.worker().start();

const run = await amends.start(placeOrder, { orderId: "o-1", sku: "tea", cents: 1_200 }, { id: "o-1" });
for await (const step of run.stream()) console.log(step.name, step.action, step.status);
const outcome = await run.result();
if (outcome.status === "COMPLETED") console.log(`o-1 COMPLETED, parcel ${outcome.results.ship.parcel}`);

const dear = await amends.start(placeOrder, { orderId: "o-2", sku: "tea", cents: 25_000 }, { id: "o-2" });
const refused = await dear.result();
if (refused.status === "FAILED" && refused.error.kind === "err") {
  // `value` is typed: it is what the steps of this saga may answer with.
  console.log(`o-2 FAILED at ${refused.step}: ${refused.error.value}`);
}
console.log(`reserved: ${warehouse.reserved}, takings: ${payments.takings}`);
await amends.close();
