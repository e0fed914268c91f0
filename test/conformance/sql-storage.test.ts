/** The storage contract on our own tables, beside the engine that uses them too. */
import { saga } from "amends";
import { SqlSagaStorage, type SagaStorageRun } from "amends/storage";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase, virtualClock } from "../support/databases.ts";
import { until } from "../support/until.ts";

const chain = saga("chain", z.object({ n: z.number() }))
  .step("one", { act: ({ input }) => input.n + 1, compensate: () => undefined })
  .step("two", { act: () => "two" });

onEachDatabase((database) => {
  it("[S-02] sagas of the engine can be read through the storage contract, with their results", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [chain] });
    await database.worker(amends);
    await (await amends.start(chain, { n: 1 }, { id: "saga-1" })).result();
    const storage = new SqlSagaStorage(db);
    expect(await storage.loadSagaState("saga-1")).toMatchObject({
      status: "COMPLETED",
      context: { input: { n: 1 }, results: { one: 2, two: "two" } },
    });
    const history = await storage.getStepHistory("saga-1");
    expect(history.map(({ id, stepName, status, details }) => [id, stepName, status, details])).toEqual([
      [1, "one", "STARTED", null],
      [2, "one", "COMPLETED", "2"],
      [3, "two", "STARTED", null],
      [4, "two", "COMPLETED", '"two"'],
    ]);
  });

  it("[S-04] nothing of a run is visible before its commit, and a rollback or an error writes nothing", async () => {
    const storage = new SqlSagaStorage(await database.open());
    const other = new SqlSagaStorage(await database.open());
    await storage.createSaga("one", "mine", {});
    const status = async (): Promise<string> => (await other.loadSagaState("one")).status;
    await storage.createRun(async (run) => {
      await run.updateStatus("one", "RUNNING");
      expect(await status()).toBe("PENDING");
      await run.rollback();
      await run.updateStatus("one", "RUNNING");
    });
    expect(await status()).toBe("PENDING");
    const failing = storage.createRun(async (run) => {
      await run.updateStatus("one", "RUNNING");
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await status()).toBe("PENDING");
    await storage.createRun(async (run) => {
      await run.updateStatus("one", "RUNNING");
      await run.commit();
      expect(await status()).toBe("RUNNING");
    });
  });

  it("[S-02][S-04] a read for update waits until the run that locked the saga commits, and sees its change", async () => {
    const db = await database.open();
    const storage = new SqlSagaStorage(db);
    await storage.createSaga("saga-1", "chain", { n: 0 });
    const events: string[] = [];
    const [locked, open] = gate();
    const first = storage.createRun(async (run) => {
      await run.loadSagaState("saga-1", { readForUpdate: true });
      open();
      await until(async () => events.includes("second read") || (await waits(db, events)));
      await run.updateContext("saga-1", { n: 1 });
      events.push("first commits");
      await run.commit();
    });
    const second = locked.then(() =>
      storage.createRun(async (run) => {
        events.push("second asks");
        const { context } = await run.loadSagaState("saga-1", { readForUpdate: true });
        events.push("second read");
        await run.updateContext("saga-1", { n: (context["n"] as number) + 1 });
        await run.commit();
      }),
    );
    const ends = await Promise.allSettled([first, second]);
    expect(events).toEqual(["second asks", "first commits", "second read"]);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    expect((await storage.loadSagaState("saga-1")).context).toEqual({ n: 2 });
  });

  it("[S-04] a commit, a rollback, the end of a run and an error in it release its lock", async () => {
    const storage = new SqlSagaStorage(await database.open({ connections: 1 }));
    await storage.createSaga("saga-1", "chain", { n: 0 });
    const lock = (run: SagaStorageRun): Promise<unknown> =>
      run.loadSagaState("saga-1", { readForUpdate: true });
    await storage.createRun(async (run) => {
      await lock(run);
      await run.updateContext("saga-1", { n: 1 });
      await run.rollback();
      expect((await storage.loadSagaState("saga-1")).context).toEqual({ n: 0 });
      await lock(run);
      await run.updateContext("saga-1", { n: 2 });
      await run.commit();
      expect((await storage.loadSagaState("saga-1")).context).toEqual({ n: 2 });
      await expect(run.loadSagaState("nobody", { readForUpdate: true })).rejects.toMatchObject({
        code: "SAGA_NOT_FOUND",
      });
      await storage.logStep("saga-1", "one", "act", "STARTED");
      await lock(run);
      await run.updateContext("saga-1", { n: 3 });
    });
    expect((await storage.loadSagaState("saga-1")).context).toEqual({ n: 2 });
    const thrown = new Error("no");
    const failing = storage.createRun(async (run) => {
      await lock(run);
      await run.updateContext("saga-1", { n: 4 });
      throw thrown;
    });
    await expect(failing).rejects.toBe(thrown);
    let ended: SagaStorageRun | undefined;
    await storage.createRun(async (run) => {
      ended = run;
      // Its answer comes after the work is over.
      void lock(run);
    });
    expect((await storage.loadSagaState("saga-1")).context).toEqual({ n: 2 });
    await expect(lock(ended as SagaStorageRun)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    await storage.updateContext("saga-1", { n: 5 });
  });

  it("[S-04][K-11] while a run holds a lock, a call of the storage inside it is refused and writes nothing", async () => {
    const db = await database.open({ connections: 1 });
    const storage = new SqlSagaStorage(db);
    await storage.createSaga("saga-1", "chain", { n: 0 });
    await storage.createSaga("saga-2", "chain", {});
    const before = await storage.loadSagaState("saga-2");
    const refusal = {
      code: "NOT_ALLOWED_NOW",
      message: expect.stringContaining("Use the methods of that run") as string,
    };
    await storage.createRun(async (outer) => {
      await storage.createRun(async (run) => {
        await run.loadSagaState("saga-1", { readForUpdate: true });
        for (const call of [
          () => storage.createSaga("saga-3", "chain", {}),
          () => storage.updateContext("saga-2", { n: 1 }),
          () => storage.updateStatus("saga-2", "RUNNING"),
          () => storage.logStep("saga-2", "one", "act", "STARTED"),
          () => storage.loadSagaState("saga-2"),
          () => storage.getStepHistory("saga-2"),
          () => storage.getSagasForRecovery(10),
          () => storage.incrementRecoveryAttempts("saga-2"),
          () => storage.setRecoveryAttempts("saga-2", 1),
          () => storage.createRun(async () => undefined),
          () => new SqlSagaStorage(db).loadSagaState("saga-2"),
          () => outer.loadSagaState("saga-2", { readForUpdate: true }),
        ]) {
          await expect(call()).rejects.toMatchObject(refusal);
        }
        expect(await run.loadSagaState("saga-2")).toEqual(before);
        expect(await run.getStepHistory("saga-2")).toEqual([]);
        await run.loadSagaState("saga-2", { readForUpdate: true });
        await run.createSaga("saga-4", "chain", {});
        await run.updateContext("saga-1", { n: 1 });
        await run.commit();
      });
    });
    expect(await storage.loadSagaState("saga-2")).toEqual(before);
    expect((await storage.getSagasForRecovery(10)).toSorted()).toEqual(["saga-1", "saga-2", "saga-4"]);
    expect((await storage.loadSagaState("saga-1")).context).toEqual({ n: 1 });
  });

  it("[S-04][K-11] while a run holds a lock, a call of Amends inside it is refused on SQLite and works on PostgreSQL, and never waits for ever", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [chain], events: [], calls: [] });
    const storage = new SqlSagaStorage(db);
    await storage.createSaga("saga-1", "chain", {});
    const calls = [
      () => amends.start(chain, { n: 1 }, { id: "saga-2" }),
      () => amends.inspect("saga-2"),
      () => amends.attention.count(),
      () => amends.worker().runOnce(),
    ];
    await storage.createRun(async (run) => {
      await run.loadSagaState("saga-1", { readForUpdate: true });
      for (const call of calls) {
        const outcome = await call().then(
          () => "done",
          (error: { readonly code: string }) => error.code,
        );
        expect(outcome).toBe(database.name === "sqlite" ? "NOT_ALLOWED_NOW" : "done");
      }
      await run.commit();
      // Without the lock, nothing waits for the run.
      await amends.start(chain, { n: 1 }, { id: "saga-2" });
    });
    expect((await amends.start(chain, { n: 1 }, { id: "saga-3" })).created).toBe(true);
  });

  it("[S-04] a run that leaves its lock unused for 15 s loses it, so that everything else goes on", async () => {
    const clock = virtualClock();
    const storage = new SqlSagaStorage(await database.open({ clock }));
    await storage.createSaga("saga-1", "chain", { n: 0 });
    const [locked, isLocked] = gate();
    const [changed, isChanged] = gate();
    const hanging = storage.createRun(async (run) => {
      await run.loadSagaState("saga-1", { readForUpdate: true });
      await clock.advance(14_999);
      await run.updateContext("saga-1", { n: 1 });
      expect((await run.loadSagaState("saga-1")).context).toEqual({ n: 1 });
      isLocked();
      await changed;
      await run.commit();
    });
    await locked;
    const waiting = storage.updateContext("saga-1", { n: 2 });
    await clock.advance(15_000);
    await waiting;
    isChanged();
    await expect(hanging).rejects.toMatchObject({
      code: "NOT_ALLOWED_NOW",
      message: expect.stringContaining("has lost the locks") as string,
    });
    expect((await storage.loadSagaState("saga-1")).context).toEqual({ n: 2 });
  });

  it("[S-04][S-15] a saga that changed between a run's change and its read for update is refused", async () => {
    const storage = new SqlSagaStorage(await database.open());
    await storage.createSaga("saga-1", "chain", { n: 0 });
    await storage.createRun(async (run) => {
      await run.updateContext("saga-1", { n: 1 });
      await storage.updateContext("saga-1", { n: 2 });
      await expect(run.loadSagaState("saga-1", { readForUpdate: true })).rejects.toMatchObject({
        code: "SAGA_CONCURRENCY",
      });
      await run.rollback();
      const { context } = await run.loadSagaState("saga-1", { readForUpdate: true });
      expect(context).toEqual({ n: 2 });
    });
  });

  it("[K-14] sagas of the engine cannot be changed through the storage contract", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [chain] });
    await amends.start(chain, { n: 1 }, { id: "saga-1" });
    const storage = new SqlSagaStorage(db);
    const before = await amends.inspect("saga-1");
    const refusal = { code: "NOT_SUPPORTED", message: expect.stringContaining("amends.cancel") as string };
    for (const change of [
      () => storage.updateContext("saga-1", {}),
      () => storage.updateStatus("saga-1", "RUNNING"),
      () => storage.logStep("saga-1", "one", "act", "COMPLETED"),
      () => storage.incrementRecoveryAttempts("saga-1"),
      () => storage.createRun((run) => run.updateStatus("saga-1", "RUNNING")),
    ]) {
      await expect(change()).rejects.toMatchObject(refusal);
    }
    expect(await amends.inspect("saga-1")).toEqual(before);
    await database.worker(amends);
    expect(await (await amends.get("saga-1")).result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[K-19] the engine leaves sagas alone that were written through the storage contract", async () => {
    const db = await database.open();
    const storage = new SqlSagaStorage(db);
    await storage.createSaga("mine", "chain", { own: true });
    const amends = await database.amends({ database: db, sagas: [chain] });
    await database.worker(amends, { poll: "5ms" });
    const starter = await database.amends({ sagas: [chain] });
    await (await starter.start(chain, { n: 1 })).result();
    expect(amends.counters.claimed).toBe(1);
    expect(await storage.loadSagaState("mine")).toEqual({
      status: "PENDING",
      context: { own: true },
      version: 1,
    });
  });

  it("[K-10][K-11] a run holds nothing between its calls: one connection is enough for any number of them", async () => {
    const storage = new SqlSagaStorage(await database.open({ connections: 1 }));
    await storage.createSaga("saga-1", "chain", { n: 0 });
    await storage.createRun(async (outer) => {
      await outer.loadSagaState("saga-1");
      await outer.logStep("saga-1", "outer", "act", "STARTED");
      await storage.createSaga("saga-2", "chain", {});
      await storage.createRun(async (inner) => {
        await inner.updateContext("saga-2", { n: 2 });
        await inner.commit();
      });
      await outer.commit();
    });
    expect(await storage.getStepHistory("saga-1")).toHaveLength(1);
    expect((await storage.loadSagaState("saga-2")).context).toEqual({ n: 2 });
  });

  it("[S-03] tables are made on first use, and only where they are missing", async () => {
    const storage = new SqlSagaStorage(await database.open({ migrated: false }));
    expect(await storage.getSagasForRecovery(10)).toEqual([]);
    await storage.createSaga("saga-1", "chain", {});
    const second = new SqlSagaStorage(await database.open({ migrated: false }));
    expect(await second.getSagasForRecovery(10)).toEqual(["saga-1"]);
  });

  it("[S-03] the tables have the columns of the contract", async () => {
    const db = await database.open();
    const storage = new SqlSagaStorage(db);
    await storage.createSaga("saga-1", "chain", { n: 1 });
    await storage.updateStatus("saga-1", "RUNNING");
    await storage.incrementRecoveryAttempts("saga-1");
    await storage.logStep("saga-1", "one", "act", "STARTED", "details");
    const [execution] = await db.query(
      sql`select id, name, status, context, version, recovery_attempts, created_at, updated_at from ${db.dialect.table("saga_executions")}`,
    );
    expect(execution).toMatchObject({
      id: "saga-1",
      name: "chain",
      status: "RUNNING",
      context: '{"n":1}',
      version: 4,
      recovery_attempts: 1,
    });
    const [line] = await db.query(
      sql`select id, saga_id, step_name, action, status, details, created_at from ${db.dialect.table("saga_logs")}`,
    );
    expect(line).toMatchObject({
      id: 4,
      saga_id: "saga-1",
      step_name: "one",
      action: "act",
      status: "STARTED",
      details: "details",
    });
  });

  it("[K-20] what cannot be stored is refused at the door, and nothing is written", async () => {
    const db = await database.open();
    const storage = new SqlSagaStorage(db);
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const refusals: readonly (readonly [string, () => Promise<void>])[] = [
      ["BAD_ID", () => storage.createSaga("", "chain", {})],
      ["BAD_ID", () => storage.createSaga("a\0b", "chain", {})],
      ["BAD_ID", () => storage.createSaga("x".repeat(181), "chain", {})],
      ["BAD_DEFINITION", () => storage.createSaga("saga-1", "", {})],
      ["BAD_JSON", () => storage.createSaga("saga-1", "chain", cycle)],
      ["BAD_JSON", () => storage.createSaga("saga-1", "chain", { text: "\0" })],
      ["BAD_JSON", () => storage.createSaga("saga-1", "chain", { text: "x".repeat(1_048_577) })],
      ["BAD_JSON", () => storage.createSaga("saga-1", "chain", [] as never)],
      ["BAD_JSON", () => storage.updateContext("good", null as never)],
      ["BAD_ID", () => storage.logStep("good", "", "act", "STARTED")],
      ["BAD_INPUT", () => storage.logStep("good", "one", "act", "STARTED", "a\0b")],
      ["BAD_INPUT", () => storage.logStep("good", "one", "act", "STARTED", "\ud800")],
    ];
    await storage.createSaga("good", "chain", {});
    for (const [code, call] of refusals) await expect(call()).rejects.toMatchObject({ code });
    for (const limit of [-1, 1.5, Number.NaN]) {
      await expect(storage.getSagasForRecovery(limit)).rejects.toMatchObject({ code: "BAD_OPTION" });
    }
    expect(await storage.getSagasForRecovery(10)).toEqual(["good"]);
    expect((await storage.loadSagaState("good")).version).toBe(1);
  });

  it("[K-09] staleness and instants follow the database's clock", async () => {
    const clock = virtualClock();
    const storage = new SqlSagaStorage(await database.open({ clock }));
    await storage.createSaga("saga-1", "chain", {});
    await storage.logStep("saga-1", "one", "act", "STARTED");
    expect((await storage.getStepHistory("saga-1"))[0]?.createdAt).toEqual(new Date(clock.virtualNowMs()));
    expect(await storage.getSagasForRecovery(10, 5, 60)).toEqual([]);
    await clock.advance(59_999);
    expect(await storage.getSagasForRecovery(10, 5, 60)).toEqual([]);
    await clock.advance(1);
    expect(await storage.getSagasForRecovery(10, 5, 60)).toEqual(["saga-1"]);
  });
});

onDatabase("postgres", (database) => {
  it("[K-12] a commit whose answer was lost is told, and not made again", async () => {
    const db = await database.open();
    let isCut = false;
    const cut = losing(db, async (work) => {
      const result = await db.transaction(work);
      if (isCut) throw connectionLost();
      return result;
    });
    const storage = new SqlSagaStorage(cut);
    await storage.createSaga("saga-1", "chain", {});
    isCut = true;
    const told = {
      code: "DATABASE_UNREACHABLE",
      message: expect.stringContaining("may or may not have been written") as string,
    };
    await expect(storage.createSaga("saga-2", "chain", {})).rejects.toMatchObject(told);
    await expect(storage.logStep("saga-1", "one", "act", "STARTED")).rejects.toMatchObject(told);
    await expect(storage.incrementRecoveryAttempts("saga-1")).rejects.toMatchObject(told);
    isCut = false;
    expect(await storage.getStepHistory("saga-1")).toHaveLength(1);
    expect((await storage.loadSagaState("saga-1")).version).toBe(3);
    expect(await storage.loadSagaState("saga-2")).toMatchObject({ version: 1 });
  });

  it("[K-12] a connection that is lost before the commit costs nobody anything", async () => {
    const db = await database.open();
    let cuts = 1;
    const cut = losing(db, (work) =>
      db.transaction((session, tx) => {
        if (cuts-- > 0) throw connectionLost();
        return work(session, tx);
      }),
    );
    const storage = new SqlSagaStorage(cut);
    await storage.createSaga("saga-1", "chain", {});
    expect(cuts).toBeLessThan(1);
    expect(await storage.loadSagaState("saga-1")).toMatchObject({ version: 1 });
    cuts = 1;
    await storage.createRun(async (run) => {
      expect(await run.loadSagaState("saga-1", { readForUpdate: true })).toMatchObject({ version: 1 });
    });
    expect(cuts).toBeLessThan(1);
  });

  it("[K-12][S-04] a run whose connection is lost while it holds a lock fails, and writes nothing until it reads again", async () => {
    const db = await database.open();
    const storage = new SqlSagaStorage(db);
    await storage.createSaga("saga-1", "chain", { n: 0 });
    const other = await database.open();
    await storage.createRun(async (run) => {
      await run.loadSagaState("saga-1", { readForUpdate: true });
      await run.updateContext("saga-1", { n: 1 });
      await until(async () => {
        const ended = await other.query(
          sql`select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and state = 'idle in transaction'`,
        );
        return ended.length === 0;
      });
      await expect(run.commit()).rejects.toMatchObject({
        code: "DATABASE_UNREACHABLE",
        message: expect.stringContaining("has lost its locks") as string,
      });
      for (const call of [
        () => run.commit(),
        () => run.updateContext("saga-1", { n: 2 }),
        () => run.loadSagaState("saga-1"),
        () => run.loadSagaState("saga-1", { readForUpdate: true }),
      ]) {
        await expect(call()).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
      }
      await run.rollback();
      expect(await run.loadSagaState("saga-1", { readForUpdate: true })).toMatchObject({ context: { n: 0 } });
      await run.updateContext("saga-1", { n: 3 });
      await run.commit();
    });
    expect((await storage.loadSagaState("saga-1")).context).toEqual({ n: 3 });
  });

  it("[K-12][S-04] a locked run whose commit was not answered is told so", async () => {
    const db = await database.open();
    let isCut = false;
    const cut = losing(db, async (work) => {
      const result = await db.transaction(work);
      if (isCut) throw connectionLost();
      return result;
    });
    const storage = new SqlSagaStorage(cut);
    await storage.createSaga("saga-1", "chain", { n: 0 });
    isCut = true;
    const running = storage.createRun(async (run) => {
      await run.loadSagaState("saga-1", { readForUpdate: true });
      await run.updateContext("saga-1", { n: 1 });
      await run.commit();
    });
    await expect(running).rejects.toMatchObject({
      code: "DATABASE_UNREACHABLE",
      message: expect.stringContaining("may or may not have been written") as string,
    });
    expect((await storage.loadSagaState("saga-1")).context).toEqual({ n: 1 });
  });
});

/** A promise, and the function that resolves it. */
function gate(): readonly [Promise<void>, () => void] {
  let open: () => void = () => undefined;
  return [new Promise<void>((resolve) => (open = resolve)), () => open()];
}

/** True if the second run has asked and cannot get on: PostgreSQL tells who waits; SQLite has one connection. */
async function waits(db: Database, events: readonly string[]): Promise<boolean> {
  if (!events.includes("second asks")) return false;
  if (db.dialect.name === "sqlite") {
    // Without a lock, a read of SQLite takes less than this many turns.
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
    return true;
  }
  const [row] = await db.query(
    sql`select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return row?.["n"] === 1;
}

/** The same database over a connection that is lost at times. */
function losing(db: Database, transaction: Database["transaction"]): Database {
  return {
    dialect: db.dialect,
    clock: db.clock,
    open: () => db.open(),
    query: (statement) => db.query(statement),
    batch: (statements) => db.batch(statements),
    transaction,
    join: (tx) => db.join(tx),
    close: () => db.close(),
  };
}

function connectionLost(): Error {
  return Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
}
