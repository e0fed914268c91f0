import { ok } from "amends";
import { handler } from "amends/events";
import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { forEver, gate } from "../sagas/support/gate.ts";
import { pair } from "../sagas/support/pair.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { convention, Registered, SchemaCreated, SchemaFailed } from "./support/convention.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";

onEachDatabase((database) => {
  it("[F-16] a step that nobody began in time is given up: nothing of it is undone, and it never begins", async () => {
    const clock = virtualClock();
    const { saga, undoers, calls } = convention({}, { schema: 60_000 });
    const db = await database.open({ clock });
    const publisher = await database.amends({ database: db, events: [saga, ...undoers] });
    await publisher.events.publish(Registered({ srn: "c-1" }));
    await clock.advance(60_000);
    await publisher.worker().runOnce();
    const [run] = await publisher.events.runs(saga, "c-1");
    expect(run).toMatchObject({
      status: "failed",
      failure: { step: "create_schema", error: "DeadlinePassed" },
    });
    expect(await sent(db)).toEqual([
      "ConventionRegistered > CreateSchema (superseded)",
      "ConventionInitFailed",
    ]);
    expect(calls).toEqual([]);
  });

  it("[F-16] a run whose handler waits for its next try is turned back by the reaper, and that step is undone too", async () => {
    const clock = virtualClock();
    const { saga, undoers, calls } = convention({ tables: "throw" }, { saga: 500 });
    const amends = await database.amends({ clock, events: [saga, ...undoers] });
    await database.worker(amends, { poll: "100ms" });
    await amends.events.publish(Registered({ srn: "c-1" }));
    await waitFor(async () => calls.includes("tables 1"));
    await waitFor(async () => {
      await clock.advance(100);
      return (await amends.events.runs(saga, "c-1"))[0]?.status === "failed";
    });
    const [run] = await amends.events.runs(saga, "c-1");
    expect(run?.failure).toEqual({ step: "create_feature_tables", error: "DeadlinePassed" });
    expect(calls).toEqual(["schema 1", "tables 1", "undoTables 1", "undoSchema 1"]);
  });

  it("[F-16] a handler that hears its signal when its run's time is up has failed, and is undone", async () => {
    const clock = virtualClock();
    const reached = gate();
    const { saga, undoers, calls } = convention(
      {
        tables: ({ signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
            void reached.pass();
          }),
      },
      { tables: 5_000 },
    );
    const amends = await database.amends({ clock, events: [saga, ...undoers] });
    await database.worker(amends, { poll: "1h" });
    await amends.events.publish(Registered({ srn: "c-1" }));
    await reached.reached;
    await clock.advance(5_000);
    const run = await runIn(amends, saga, "c-1", "failed");
    expect(run.failure).toEqual({ step: "create_feature_tables", error: "DeadlinePassed" });
    expect(calls.slice(2)).toEqual(["undoTables 1", "undoSchema 1"]);
  });

  it("[F-13] a success that comes after the run has turned back is undone as well, and nothing is undone before it", async () => {
    const lease = gate();
    const one = convention({ tables: () => lease.pass() }, { tables: 5_000 });
    const other = convention({}, { tables: 5_000 });
    const { first, second, secondClock } = await pair(
      database,
      { events: [one.saga, ...one.undoers] },
      { events: [other.saga, ...other.undoers] },
    );
    await database.worker(first);
    await first.events.publish(Registered({ srn: "c-1" }));
    await lease.reached;
    secondClock.jump(6_000);
    await database.worker(second);
    const turned = await runIn(second, other.saga, "c-1", "compensating");
    expect(turned).toMatchObject({ completedSteps: ["create_schema"], undoSteps: ["create_schema"] });
    expect([...one.calls, ...other.calls]).toEqual(["schema 1", "tables 1"]);
    lease.open();
    const run = await runIn(second, other.saga, "c-1", "failed");
    expect(run.completedSteps).toEqual(["create_schema", "create_feature_tables"]);
    expect([...one.calls.slice(2), ...other.calls]).toEqual(["undoTables 1", "undoSchema 1"]);
  });

  it("[F-13][F-16] a try that fails after its run has turned back is not waited for: undoing begins at once", async () => {
    const lease = gate();
    const one = convention({ tables: () => lease.pass() }, { tables: 5_000 });
    const { first, second, secondClock } = await pair(database, {
      events: [one.saga, ...one.undoers],
    });
    await database.worker(first, { poll: "1h" });
    await first.events.publish(Registered({ srn: "c-1" }));
    await lease.reached;
    secondClock.jump(6_000);
    await second.worker().runOnce();
    await runIn(second, one.saga, "c-1", "compensating");
    // Its clock stands still: whatever was to come again would never be due here.
    lease.fail(new Error("trouble"));
    await runIn(first, one.saga, "c-1", "failed");
    expect(one.calls).toEqual(["schema 1", "tables 1", "undoTables 1", "undoSchema 1"]);
  });

  it("[F-16] a try that fails leaves its step's deadline as it was", async () => {
    const clock = virtualClock();
    const { saga } = convention({ tables: "throw" }, { tables: 60_000 });
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends, { poll: "1h" });
    const due = async (): Promise<unknown> => {
      const [row] = await db.query(sql`select due_at from ${db.dialect.table("saga_state")}`);
      return row?.["due_at"];
    };
    await amends.events.publish(Registered({ srn: "c-1" }));
    await waitFor(async () => (await sent(db)).includes("SchemaCreated > CreateTables (failed)"));
    const before = await due();
    expect(before).not.toBeNull();
    const [run] = await amends.events.runs(saga, "c-1");
    expect(Number(new Date(before as string | number)) - Number(run?.startedAt)).toBe(60_000);
  });

  it("[F-12][F-13] a handler whose worker is gone when the run has turned back is in doubt: it is undone, not run again", async () => {
    const lease = gate();
    const one = convention({ tables: () => lease.pass() }, { tables: 5_000 });
    const other = convention({}, { tables: 5_000 });
    const { first, second, secondClock, lapse } = await pair(
      database,
      { events: [one.saga, ...one.undoers] },
      { events: [other.saga, ...other.undoers] },
    );
    // With one place, which the call keeps, the first worker takes nothing else.
    await database.worker(first, { concurrency: 1 });
    await first.events.publish(Registered({ srn: "c-1" }));
    await lease.reached;
    secondClock.jump(6_000);
    await database.worker(second);
    await runIn(second, other.saga, "c-1", "compensating");
    lapse();
    await waitFor(async () => {
      await secondClock.advance(1_000);
      return (await second.events.runs(other.saga, "c-1"))[0]?.status === "failed";
    });
    // The handler itself is called no more.
    expect([...one.calls.slice(2), ...other.calls].toSorted()).toEqual(["undoSchema 1", "undoTables 1"]);
    lease.open();
  });

  it("[K-08] a try that takes too long is told so, and counts as failed", async () => {
    const clock = virtualClock();
    const { saga, calls } = convention({
      schema: ({ signal, attempt }) =>
        attempt > 1 ||
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
          void clock.advance(30_000);
        }),
    });
    const [first] = saga.steps;
    Object.assign(first?.handler ?? {}, { timeoutMs: 30_000 });
    const amends = await database.amends({ clock, events: [saga] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await amends.events.runs(saga, "c-1"))[0]?.status === "completed";
    });
    expect(calls).toEqual(["schema 1", "schema 2", "tables 1"]);
  });

  it("[F-16] a success that comes after the run's time is up turns the run back, and is undone", async () => {
    const clock = virtualClock();
    const lease = gate();
    const { saga, undoers, calls } = convention({ tables: () => lease.pass() }, { tables: 5_000 });
    const amends = await database.amends({ clock, events: [saga, ...undoers] });
    await database.worker(amends, { poll: "1h" });
    await amends.events.publish(Registered({ srn: "c-1" }));
    await lease.reached;
    await clock.advance(5_000);
    lease.open();
    const run = await runIn(amends, saga, "c-1", "failed");
    expect(run.failure).toEqual({ step: "create_feature_tables", error: "DeadlinePassed" });
    expect(calls.slice(2)).toEqual(["undoTables 1", "undoSchema 1"]);
  });

  it("[F-16][K-08] a handler that does not return when its run's time is up is waited for: nothing is undone beside it", async () => {
    const clock = virtualClock();
    const lease = gate();
    const { saga, undoers, calls } = convention({ tables: () => lease.pass() }, { tables: 5_000 });
    const amends = await database.amends({ clock, events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    await lease.reached;
    for (let tick = 0; tick < 5; tick++) await clock.advance(10_000);
    const turned = await runIn(amends, saga, "c-1", "compensating");
    expect(turned).toMatchObject({ undoSteps: ["create_schema"] });
    expect(calls).toEqual(["schema 1", "tables 1"]);
    lease.open();
    await runIn(amends, saga, "c-1", "failed");
    expect(calls.slice(2)).toEqual(["undoTables 1", "undoSchema 1"]);
  });

  it("[F-12][K-08] a handler's last try is not given up while it is known to run: its end counts", async () => {
    const clock = virtualClock();
    const lease = gate<"ok">();
    const calls: string[] = [];
    const slow = handler("Slow", {
      on: Registered,
      ok: SchemaCreated,
      err: SchemaFailed,
      timeout: "5s",
      retry: { attempts: 1 },
      handle: async ({ srn }) => {
        calls.push("slow");
        await lease.pass();
        return ok(SchemaCreated({ srn, fields: 1 }));
      },
    });
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, events: [slow] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    await lease.reached;
    for (let tick = 0; tick < 5; tick++) await clock.advance(10_000);
    expect(await sent(db)).toEqual(["ConventionRegistered > Slow (in_flight)"]);
    lease.open("ok");
    await waitFor(async () => (await sent(db)).length === 2);
    expect(calls).toEqual(["slow"]);
    expect((await sent(db))[0]).toBe("ConventionRegistered > Slow");
  });

  it("[F-12][K-08] a try that does not return is tried again within its attempts", async () => {
    const clock = virtualClock();
    const calls: number[] = [];
    const deaf = handler("Deaf", {
      on: Registered,
      ok: SchemaCreated,
      err: SchemaFailed,
      timeout: "5s",
      retry: { attempts: 2, base: "1s" },
      handle: async ({ srn }, { attempt }) => {
        calls.push(attempt);
        if (attempt === 1) await forEver();
        return ok(SchemaCreated({ srn, fields: 1 }));
      },
    });
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, events: [deaf] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await sent(db)).length === 2;
    });
    expect(calls).toEqual([1, 2]);
  });
});
