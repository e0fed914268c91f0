import { ok } from "amends";
import { handler } from "amends/events";
import { expect, it } from "vitest";
import { raw, sql } from "../../src/storage/sql.ts";
import { gate } from "../sagas/support/gate.ts";
import { pair } from "../sagas/support/pair.ts";
import { onEachDatabase } from "../support/databases.ts";
import { convention, Registered, SchemaCreated, TablesCreated, TablesFailed } from "./support/convention.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";

onEachDatabase((database) => {
  it("[F-09][F-14] the run is there with its trigger, before any handler has begun", async () => {
    const { saga } = convention();
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga] });
    await db.transaction(
      async (_session, tx) => void (await amends.events.publish(Registered({ srn: "c-1" }), { tx })),
    );
    const [row] = await db.query(sql`select * from ${db.dialect.table("saga_state")}`);
    expect(row).toMatchObject({
      saga_type: "convention_init",
      process_id: "c-1",
      run: 1,
      status: "running",
      current_step: 0,
      completed_steps: "[]",
      error: null,
    });
    expect((await amends.events.runs(saga, "c-1"))[0]?.events).toMatchObject([
      { event: "ConventionRegistered", handler: "CreateSchema", status: "pending" },
    ]);
  });

  it("[F-14] a process has one open run; when it has ended the process can run again, under the next number", async () => {
    const lease = gate();
    const made = convention({ schema: () => lease.pass() });
    const { saga, calls } = made;
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    const [first] = await amends.events.publish(Registered({ srn: "c-1" }));
    await lease.reached;
    for (const options of [{ timeout: "20ms" }, { signal: AbortSignal.abort() }] as const)
      await expect(first?.ended(options)).rejects.toMatchObject({ code: "STOPPED_WAITING" });
    const [second] = await amends.events.publish(Registered({ srn: "c-1" }));
    expect(await amends.events.inspect(second?.id ?? "")).toBeUndefined();
    lease.open();
    await runIn(amends, saga, "c-1", "completed");
    expect(calls).toEqual(["schema 1", "tables 1"]);
    expect(await sent(db)).toContain("ConventionRegistered > CreateSchema (superseded)");
    made.wills = {};
    const [third] = await amends.events.publish(Registered({ srn: "c-1" }));
    expect(await third?.ended()).toBe("completed");
    const runs = await amends.events.runs(saga, "c-1");
    expect(runs.map(({ run, status }) => `${run} ${status}`)).toEqual(["2 completed", "1 completed"]);
  });

  it("[F-14][F-17] the same trigger published again after its run has ended begins no second run", async () => {
    const { saga, calls } = convention();
    const amends = await database.amends({ events: [saga] });
    await database.worker(amends);
    const trigger = Registered({ srn: "c-1" });
    const [run] = await amends.events.publish(trigger);
    expect(await run?.ended()).toBe("completed");
    await amends.events.publish(trigger);
    expect(await amends.events.runs(saga, "c-1")).toHaveLength(1);
    expect(calls).toEqual(["schema 1", "tables 1"]);
  });

  it("[F-08] an event of the chain that comes from outside is a breach of contract while no run waits for it", async () => {
    const { saga, calls } = convention();
    const amends = await database.amends({ events: [saga] });
    await database.worker(amends);
    await amends.events.publish(SchemaCreated({ srn: "c-9", fields: 1 }));
    const [item] = await waitFor(async () => {
      const { items } = await amends.attention.list();
      return items.length > 0 && items;
    });
    expect(item).toMatchObject({
      kind: "abandoned-event",
      handler: "CreateTables",
      error: "SagaContractViolation",
    });
    expect(calls).toEqual([]);
  });

  it("[F-08] an event of a step that is past changes nothing, emits nothing and calls nobody", async () => {
    const { saga, calls } = convention();
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    const [run] = await amends.events.publish(Registered({ srn: "c-1" }));
    await run?.ended();
    const before = await amends.events.inspect(run?.id ?? "");
    await amends.events.publish(SchemaCreated({ srn: "c-1", fields: 7 }));
    await waitFor(async () => (await sent(db)).includes("SchemaCreated > CreateTables (superseded)"));
    expect(await amends.events.inspect(run?.id ?? "")).toEqual(before);
    expect(calls).toEqual(["schema 1", "tables 1"]);
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it("[F-08][K-06] a worker that lost its delivery records nothing: the run moves once, by the worker that took it over", async () => {
    const lease = gate();
    const one = convention({ schema: () => lease.pass() });
    const other = convention();
    const db = await database.open();
    const { first, second, lapse } = await pair(database, { events: [one.saga] }, { events: [other.saga] });
    await database.worker(first);
    await first.events.publish(Registered({ srn: "c-1" }));
    await lease.reached;
    lapse();
    await database.worker(second);
    await runIn(second, other.saga, "c-1", "completed");
    const before = await sent(db);
    lease.open();
    await waitFor(async () => one.calls.length === 1);
    const [run] = await second.events.runs(other.saga, "c-1");
    expect(run).toMatchObject({
      status: "completed",
      completedSteps: ["create_schema", "create_feature_tables"],
    });
    expect(await sent(db)).toEqual(before);
    expect(other.calls).toEqual(["schema 2", "tables 1"]);
  });

  it("[F-08][F-17] two workers race on many processes: every step is recorded once, every event sent once", async () => {
    const { saga, calls } = convention();
    const db = await database.open();
    const amends = await Promise.all([0, 1].map(() => database.amends({ events: [saga] })));
    const processes = Array.from({ length: 40 }, (_, n) => `c-${n}`);
    const publisher = await database.amends({ database: db, events: [saga] });
    await publisher.events.publish(processes.map((srn) => Registered({ srn })));
    await Promise.all(amends.map((one) => database.worker(one, { concurrency: 7, poll: "20ms" })));
    await waitFor(async () => {
      const [row] = await db.query(
        sql`select count(*) as n from ${db.dialect.table("saga_state")} where status = 'completed'`,
      );
      return Number(row?.["n"]) === processes.length;
    });
    expect(calls).toHaveLength(2 * processes.length);
    const counts = new Map<string, number>();
    for (const one of await sent(db)) counts.set(one, (counts.get(one) ?? 0) + 1);
    expect(Object.fromEntries(counts)).toEqual({
      "ConventionRegistered > CreateSchema": 40,
      "SchemaCreated > CreateTables": 40,
      FeatureTablesCreated: 40,
      ConventionReady: 40,
    });
  });

  it("[F-04] other handlers take a saga's events too, and know nothing of it", async () => {
    const { saga } = convention();
    const watch = handler("watch", {
      on: SchemaCreated,
      ok: TablesCreated,
      err: TablesFailed,
      handle: ({ srn }) => ok(TablesCreated({ srn, tables: 0 })),
    });
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga, watch] });
    await database.worker(amends);
    const [run] = await amends.events.publish(Registered({ srn: "c-1" }));
    expect(await run?.ended()).toBe("completed");
    await waitFor(async () => (await sent(db)).filter((one) => one === "FeatureTablesCreated").length === 2);
    expect(await sent(db)).toContain("SchemaCreated > watch");
  });

  it("[K-13][K-14] the database refuses to change a run that has ended, and a second open one", async () => {
    const { saga } = convention();
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    const [run] = await amends.events.publish(Registered({ srn: "c-1" }));
    await run?.ended();
    const state = db.dialect.table("saga_state").text;
    await expect(db.query(raw(`update ${state} set current_step = 0`))).rejects.toThrow(
      /has ended never changes/,
    );
    const insert = (id: string): string =>
      `insert into ${state} (saga_id, saga_type, process_id, run, status, trigger_id, trail, started_at, updated_at)
       select '${id}', saga_type, process_id, run + ${id}, 'running', trigger_id, '', started_at, started_at from ${state} where run = 1`;
    await db.query(raw(insert("1")));
    await expect(db.query(raw(insert("2")))).rejects.toThrow(/unique/i);
  });
});
