/** A store of states of the user's own, which the engine writes in its own transactions. */
import { Amends, ok } from "amends";
import { event, eventSaga, handler, step } from "amends/events";
import { sqlite } from "amends/sqlite";
import { expect, it } from "vitest";
import { z } from "zod";
import { effect, effects, makeEffects, transactionOn } from "../sagas/support/effects-table.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { convention, Registered } from "./support/convention.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";
import { ownStore } from "./support/own-store.ts";

onEachDatabase((database) => {
  it("[F-07][F-09] a SagaStore gets every state in the transaction that settles the delivery, from the trigger to the end", async () => {
    const { saga } = convention();
    const db = await database.open();
    const store = await ownStore(db);
    const amends = await database.amends({ database: db, events: { define: [saga], store } });
    await amends.events.publish(Registered({ srn: "c-1" }));
    expect(await store.committed()).toEqual(["running 0"]);
    await database.worker(amends);
    const run = await runIn(amends, saga, "c-1", "completed");
    expect(await store.committed()).toEqual(["running 0", "running 1", "completed 2"]);
    expect(await store.get("convention_init", "c-1", {})).toMatchObject({
      sagaId: run.id,
      completedSteps: ["create_schema", "create_feature_tables"],
      status: "completed",
      startedAt: expect.any(Date) as Date,
    });
  });

  it("[F-07] what a SagaStore wrote before it threw is rolled back with the event, the run and the delivery's mark; the next try writes all of it once", async () => {
    const clock = virtualClock();
    const { saga, calls } = convention();
    const db = await database.open({ clock });
    const store = await ownStore(db);
    let isDown = true;
    store.beforeSave = ({ currentStep }) => {
      if (currentStep === 1 && isDown) throw new Error("the store is down");
    };
    const amends = await database.amends({ database: db, events: { define: [saga], store } });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    await waitFor(async () => (await sent(db))[0]?.endsWith("(failed)"));
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema (failed)"]);
    expect(await store.committed()).toEqual(["running 0"]);
    expect((await amends.events.runs(saga, "c-1"))[0]).toMatchObject({ status: "running", currentStep: 0 });
    isDown = false;
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await amends.events.runs(saga, "c-1"))[0]?.status === "completed";
    });
    expect(calls).toEqual(["schema 1", "schema 2", "tables 1"]);
    expect(await store.committed()).toEqual(["running 0", "running 1", "completed 2"]);
    expect(await sent(db)).toEqual([
      "ConventionRegistered > CreateSchema",
      "SchemaCreated > CreateTables",
      "FeatureTablesCreated",
      "ConventionReady",
    ]);
  });

  it("[F-07] a SagaStore takes part in the transaction of a handler, too", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    const id = z.object({ key: z.string() });
    const [Begun, Written, Refused] = [event("Begun", id), event("Written", id), event("Refused", id)];
    const writing = handler("writing", {
      on: Begun,
      ok: Written,
      err: Refused,
      retry: { base: "1s" },
      transaction: transactionOn(database.name),
      handle: async ({ key }, { tx, attempt }) => {
        await effect(tx, `try ${attempt}`);
        return ok(Written({ key }));
      },
    });
    const saga = eventSaga("writer", {
      trigger: Begun,
      correlate: "key",
      steps: [step("write", writing)],
      onCompleted: (key) => Written({ key }),
      onFailed: (key) => Refused({ key }),
    });
    const store = await ownStore(db);
    let saves = 0;
    store.beforeSave = ({ status }) => {
      if (status === "completed" && ++saves === 1) throw new Error("the store is down");
    };
    const amends = await database.amends({ database: db, events: { define: [saga], store } });
    await database.worker(amends);
    await amends.events.publish(Begun({ key: "k" }));
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await amends.events.runs(saga, "k"))[0]?.status === "completed";
    });
    expect(await effects(db)).toEqual(["try 2"]);
    expect(await store.committed()).toEqual(["running 0", "completed 1"]);
  });

  it("[F-07][F-11] a SagaStore gets the states of a compensation, and what an operator did", async () => {
    const { saga, undoers } = convention({ tables: "err", undoSchema: "err" });
    const db = await database.open();
    const store = await ownStore(db);
    const amends = await database.amends({ database: db, events: { define: [saga, ...undoers], store } });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    const { id } = await runIn(amends, saga, "c-1", "stalled");
    await amends.events.resolve(id, { reason: "undone by hand", by: "ann" });
    await runIn(amends, saga, "c-1", "failed");
    const wanted = ["running 0", "running 1", "compensating 1", "stalled 1", "failed 1"];
    expect(await store.committed()).toEqual(wanted);
    expect(await store.get("convention_init", "c-1", {})).toMatchObject({
      error: "create_feature_tables",
      errorLabel: "FeatureTablesFailed",
    });
  });

  it("[F-07] in the publisher's transaction, a SagaStore has the state exactly if that commits", async () => {
    const { saga } = convention();
    const db = await database.open();
    const store = await ownStore(db);
    const amends = await database.amends({ database: db, events: { define: [saga], store } });
    const gone = db.transaction(async (_, tx) => {
      await amends.events.publish(Registered({ srn: "c-1" }), { tx });
      throw new Error("no");
    });
    await expect(gone).rejects.toThrow("no");
    expect(await store.committed()).toEqual([]);
    await db.transaction((_, tx) => amends.events.publish(Registered({ srn: "c-2" }), { tx }));
    expect(await store.committed()).toEqual(["running 0"]);
  });
});

it("[F-07] a SagaStore without `save` and `get` is refused", () => {
  const store = { save: () => undefined } as never;
  expect(() => new Amends({ database: sqlite(":memory:"), events: { define: [], store } })).toThrow(
    "events.store must be a SagaStore with `save` and `get`.",
  );
});
