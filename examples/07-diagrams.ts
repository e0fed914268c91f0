/** Mermaid text of a definition, and of one run with what happened. */
import { Amends, err, saga } from "amends";
import { runDiagram, sagaDiagram } from "amends/sagas";
import { sqlite } from "amends/sqlite";
import { z } from "zod";

const trip = saga("trip", z.object({ city: z.string() }))
  .step("hotel", { act: () => "h-1", compensate: () => undefined })
  .step("flight", { act: ({ input }) => (input.city === "Atlantis" ? err("sunk") : "f-1") })
  .pivot("pay", { act: () => "paid" })
  .step("ticket", { act: () => "sent" });

console.log(sagaDiagram(trip));
console.log(sagaDiagram(trip, "state"));

const amends = new Amends({ database: sqlite(process.argv[2] ?? ":memory:"), sagas: [trip] });
await amends.migrate();
await amends.worker().start();
const run = await amends.start(trip, { city: "Atlantis" });
await run.result();
const view = await amends.inspect(run.id);
if (view) console.log(runDiagram(view));
await amends.close();
