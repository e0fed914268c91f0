import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { convention, Registered } from "./support/convention.ts";
import { runIn, sent } from "./support/flow.ts";

onEachDatabase((database) => {
  it("[F-03][F-05][F-06][F-18] steps run in order; each step's event and the saga's own are sent by the orchestrator", async () => {
    const { saga, calls } = convention();
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    const run = await runIn(amends, saga, "c-1", "completed");
    expect(run).toMatchObject({
      saga: "convention_init",
      run: 1,
      currentStep: 2,
      completedSteps: ["create_schema", "create_feature_tables"],
      failure: undefined,
    });
    expect(calls).toEqual(["schema 1", "tables 1"]);
    expect(await sent(db)).toEqual([
      "ConventionRegistered > CreateSchema",
      "SchemaCreated > CreateTables",
      "FeatureTablesCreated",
      "ConventionReady",
    ]);
  });
});
