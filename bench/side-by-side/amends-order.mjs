// The order process for Amends.
import { Amends, saga, signal } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { z } from "zod";
import { call } from "./call.mjs";

const [, , url, id, mode] = process.argv;
const approved = signal("approved", z.object({}));
const retry = { attempts: 3, base: "100ms", cap: "100ms" };

const shipOrder = saga("ship-order", z.object({}), { retry, compensateRetry: retry })
  .step("label", {
    act: ({ key }) => call("label", key),
    compensate: ({ actKey }) => call("cancel-label", actKey),
  })
  .step("pickup", {
    act: ({ key }) => call("pickup", key),
    compensate: ({ actKey }) => call("cancel-pickup", actKey),
  });

const placeOrder = saga("place-order", z.object({ items: z.array(z.string()) }), {
  retry,
  compensateRetry: retry,
})
  .each("reserve", {
    over: ({ input }) => input.items,
    key: (sku) => sku,
    act: ({ key }) => call("reserve", key),
    compensate: ({ actKey }) => call("release", actKey),
    concurrency: 1,
  })
  .waitFor("decision", { signal: approved, timeout: "1m" })
  .step("invoice", {
    act: ({ key }) => call("invoice", key),
    compensate: ({ actKey }) => call("void-invoice", actKey),
  })
  .step("charge", {
    act: ({ key }) => call("charge", key),
    compensate: ({ actKey }) => call("refund", actKey),
  })
  .saga("ship", shipOrder, { input: () => ({}) });

const amends = new Amends({ database: postgres({ url }), sagas: [placeOrder, shipOrder], lease: "2s" });
await amends.migrate();
await amends.worker({ poll: "100ms" }).start();
const run =
  mode === "start"
    ? await amends.start(placeOrder, { items: ["lamp", "bulb"] }, { id })
    : await amends.get(id);
if (mode === "start") await amends.signal(id, approved, {}, { id: `approval of ${id}` });
if (mode === "cancel") await run.cancel({ reason: "the customer called" });
// A parent waits for a child that needs a person: the attention list says so.
const status = await run.result({ timeout: "20s" }).then(
  (outcome) => outcome.status,
  () => run.status(),
);
const { items } = await amends.attention.list();
process.stdout.write(`${status}${items.length > 0 ? `, ${items[0].reason}` : ""}\n`);
await amends.close();
process.exit(0);
