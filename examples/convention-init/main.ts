/** A convention is set up in two steps, by handlers that know nothing of each other; the saga watches over both. */
import { setTimeout } from "node:timers/promises";
import { Amends } from "amends";
import { eventSaga, flowDiagram, step } from "amends/events";
import { sqlite } from "amends/sqlite";
import {
  CompensateFeatureTables,
  CompensateSchema,
  ConventionInitFailed,
  ConventionReady,
  ConventionRegistered,
  RecordPublished,
} from "./events.ts";
import {
  CreateConventionSchema,
  createFeatureTables,
  indexPublishedRecord,
  undoFeatureTables,
} from "./handlers.ts";
import { ConventionSrn } from "./names.ts";
import { ConventionRepository, FeatureService, SchemaService, SearchService } from "./services.ts";

const conventions = new ConventionRepository();
const features = new FeatureService();
const search = new SearchService();

const conventionInit = eventSaga("convention_init", {
  trigger: ConventionRegistered,
  correlate: "conventionSrn",
  id: { serialize: String, deserialize: (text) => ConventionSrn.parse(text) },
  steps: [
    step("create_schema", new CreateConventionSchema(new SchemaService()), {
      compensation: CompensateSchema,
    }),
    step("create_feature_tables", createFeatureTables(conventions, features), {
      compensation: CompensateFeatureTables,
      deadline: "1h",
    }),
  ], // step 2 must take what step 1 gives, or it does not compile
  onCompleted: async (srn) => ConventionReady({ conventionSrn: String(srn) }),
  onFailed: async (srn, failure) => ConventionInitFailed({ conventionSrn: String(srn), error: failure.step }),
  onCompensate: async (srn, { compensation }) => compensation?.({ conventionSrn: String(srn) } as never),
});

const amends = new Amends({
  database: sqlite(":memory:"),
  events: [conventionInit, undoFeatureTables(conventions, features), indexPublishedRecord(search)],
});
await amends.migrate();
await amends.worker().start();
console.log(flowDiagram(conventionInit));

async function register(srn: ConventionSrn, hooks: readonly string[]): Promise<void> {
  conventions.save(srn, hooks);
  const registered = ConventionRegistered({
    conventionSrn: String(srn),
    title: "Spectra",
    schemaFields: ["title", "body"],
    hooks: [...hooks],
  });
  const [run] = await amends.events.publish(registered);
  const status = await run?.ended();
  const view = await amends.events.inspect(run?.id ?? "");
  console.log(`${String(srn)}: ${status}`);
  for (const { event, handler } of view?.events ?? []) {
    console.log(handler === undefined ? `  ${event}` : `  ${event} -> ${handler}`);
  }
}

await register(new ConventionSrn("1"), ["images", "spectra"]);
await register(new ConventionSrn("2"), ["taken"]); // the table exists: err
await register(new ConventionSrn("3"), ["masses", "broken"]); // the disk is full after one table
console.log(`tables: ${[...features.tables].toSorted().join(", ")}`);

await amends.events.publish(RecordPublished({ recordSrn: "urn:osa:record:1", title: "Iron" }));
while (search.indexed.length === 0) await setTimeout(10);
console.log(`indexed: ${search.indexed.join(", ")}`);
await amends.close();
