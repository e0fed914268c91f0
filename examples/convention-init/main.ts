/** A convention is set up in two steps, by handlers that know nothing of each other; the saga watches over both. */
import { Amends } from "amends";
import { eventSaga, flowDiagram, step } from "amends/events";
import { sqlite } from "amends/sqlite";
import {
  CompensateFeatureTables,
  CompensateSchema,
  ConventionInitFailed,
  ConventionReady,
  ConventionRegistered,
} from "./events.ts";
import { createConventionSchema, createFeatureTables } from "./handlers.ts";

const conventionInit = eventSaga("convention_init", {
  trigger: ConventionRegistered,
  correlate: "conventionSrn",
  steps: [
    step("create_schema", createConventionSchema, { compensation: CompensateSchema }),
    step("create_feature_tables", createFeatureTables, {
      compensation: CompensateFeatureTables,
      deadline: "1h",
    }),
  ], // step 2 must take what step 1 gives, or it does not compile
  onCompleted: (id) => ConventionReady({ conventionSrn: id }),
  onFailed: (id, failure) => ConventionInitFailed({ conventionSrn: id, error: failure.step }),
});

const amends = new Amends({ database: sqlite(":memory:"), events: [conventionInit] });
await amends.migrate();
await amends.worker().start();
console.log(flowDiagram(conventionInit));

async function register(conventionSrn: string, hooks: readonly string[]): Promise<void> {
  const registered = ConventionRegistered({
    conventionSrn,
    schemaFields: ["title", "body"],
    hooks: [...hooks],
  });
  const [run] = await amends.events.publish(registered);
  const status = await run?.ended();
  const view = await amends.events.inspect(run?.id ?? "");
  console.log(`${conventionSrn}: ${status}`);
  for (const { event, handler } of view?.events ?? []) {
    console.log(handler === undefined ? `  ${event}` : `  ${event} -> ${handler}`);
  }
}

await register("urn:osa:convention:1", ["images", "spectra"]);
await register("urn:osa:convention:2", ["taken"]);
await amends.close();
