/** Sagas that stalled: what is known of them, and the three ways on. */
import { Amends, err, saga } from "amends";
import { sqlite } from "amends/sqlite";
import { z } from "zod";
import { payments } from "./shop.ts";

const order = saga("order", z.object({ cents: z.number().int() }))
  .step("charge", {
    act: ({ input, key, signal }) => payments.charge(input.cents, { key, signal }),
    compensate: ({ actKey }) => payments.refund(actKey),
    compensateRetry: { attempts: 2, base: "20ms" },
  })
  .step("ship", { act: () => err("no-courier") });

const amends = new Amends({
  database: sqlite(process.argv[2] ?? ":memory:"),
  sagas: [order],
  // Called once a saga has stalled, durably: labels only, safe to send to whoever is on call.
  onStalled: ({ id, reason }) => console.log(`page: ${id}, ${reason}`),
});
await amends.migrate();
await amends.worker({ poll: "50ms" }).start();

payments.down = true;
for (const id of ["o-1", "o-2", "o-3"]) {
  const run = await amends.start(order, { cents: 500 }, { id });
  await run.result();
}

const { items } = await amends.attention.list();
for (const item of items) {
  if (item.kind !== "stalled-saga") continue; // it also lists what erasures wait for
  console.log(`${item.id}: turned back by ${item.error?.label}; ${item.actions.join(", ")}`);
}

payments.down = false;
// Retry: the trouble is over. The undo gets new tries.
await amends.retry("o-1", { by: "ann", reason: "payments are back" });
// Skip: you have refunded by hand. The undo is not called; everything else goes on.
await amends.skip("o-2", "charge", { by: "ann", reason: "refunded by hand, ticket 17" });
// Resolve: the saga ends now, and you answer for its effects.
await amends.resolve("o-3", "FAILED", { by: "ann", reason: "the customer keeps the goods" });

for (const id of ["o-1", "o-2", "o-3"]) {
  const run = await amends.get(id);
  const { status } = await run.result();
  const view = await amends.inspect(id);
  const last = view?.timeline.findLast(({ by }) => by === "ann");
  console.log(`${id}: ${status}, ${last?.name} by ${last?.by}: ${last?.note}`);
}
console.log(`needing a person: ${(await amends.attention.list()).items.length}`);
await amends.close();
