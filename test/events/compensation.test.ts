import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { convention, Registered } from "./support/convention.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";

onEachDatabase((database) => {
  it("[F-10][F-11][F-18] commands that nobody handles are sent in reverse and not waited for, then the saga says that it failed", async () => {
    const { saga } = convention({ tables: "err" });
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    const run = await runIn(amends, saga, "c-1", "failed");
    expect(run).toMatchObject({
      completedSteps: ["create_schema"],
      failure: { step: "create_feature_tables", error: "FeatureTablesFailed" },
    });
    expect(await sent(db)).toEqual([
      "ConventionRegistered > CreateSchema",
      "SchemaCreated > CreateTables",
      "FeatureTablesFailed",
      "CompensateSchema",
      "ConventionInitFailed",
    ]);
  });

  it("[F-11] a command that has a handler is waited for before the saga says that it failed", async () => {
    const { saga, undoers, calls } = convention({ tables: "err" });
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    await runIn(amends, saga, "c-1", "failed");
    expect(calls).toEqual(["schema 1", "tables 1", "undoSchema 1"]);
    expect(await sent(db)).toEqual([
      "ConventionRegistered > CreateSchema",
      "SchemaCreated > CreateTables",
      "FeatureTablesFailed",
      "CompensateSchema > UndoSchema",
      "SchemaCompensated",
      "ConventionInitFailed",
    ]);
  });

  it("[F-12] a handler that uses up its tries is a failed step, whose own compensation runs too", async () => {
    const clock = virtualClock();
    const { saga, undoers, calls } = convention({ tables: "throw" });
    const amends = await database.amends({ clock, events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    await waitFor(async () => calls.includes("tables 1"));
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await amends.events.runs(saga, "c-1"))[0]?.status === "failed";
    });
    expect(calls).toEqual(["schema 1", "tables 1", "tables 2", "undoTables 1", "undoSchema 1"]);
    const [run] = await amends.events.runs(saga, "c-1");
    expect(run?.failure).toEqual({ step: "create_feature_tables", error: "Error" });
  });

  it("[F-11][P-02] an undo that answers with err stalls the run; retried, it goes on to the end", async () => {
    const made = convention({ tables: "err", undoSchema: "err" });
    const { saga, undoers, calls } = made;
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    const stalled = await runIn(amends, saga, "c-1", "stalled");
    expect(stalled).toMatchObject({
      undoSteps: ["create_schema"],
      failure: { step: "create_feature_tables" },
    });
    made.wills = {};
    await expect(amends.events.retry(stalled.id, { reason: "" })).rejects.toThrow("reason");
    await amends.events.retry(stalled.id, { reason: "the schema is back", by: "ada" });
    const run = await runIn(amends, saga, "c-1", "failed");
    expect(run.notes).toMatchObject([{ action: "retry", reason: "the schema is back", by: "ada" }]);
    expect(calls.filter((call) => call.startsWith("undo"))).toEqual(["undoSchema 1", "undoSchema 1"]);
    expect((await sent(db)).slice(-3)).toEqual([
      "CompensateSchema > UndoSchema",
      "SchemaCompensated",
      "ConventionInitFailed",
    ]);
  });

  it("[F-11] an undo that uses up its tries stalls the run; resolved by hand, it goes on with the rest", async () => {
    const clock = virtualClock();
    const { saga, undoers, calls } = convention({ tables: "throw", undoTables: "throw" });
    const amends = await database.amends({ clock, events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await amends.events.runs(saga, "c-1"))[0]?.status === "stalled";
    });
    const [stalled] = await amends.events.runs(saga, "c-1");
    expect(stalled).toMatchObject({ undoSteps: ["create_feature_tables", "create_schema"] });
    await amends.events.resolve(stalled?.id ?? "", { reason: "dropped them by hand" });
    await runIn(amends, saga, "c-1", "failed");
    expect(calls.slice(-3)).toEqual(["undoTables 1", "undoTables 2", "undoSchema 1"]);
    await expect(amends.events.retry(stalled?.id ?? "", { reason: "again" })).rejects.toThrow(
      "Only a stalled run",
    );
  });
});
