import { saga } from "amends";
import { postgres } from "amends/postgres";
import { sqlite } from "amends/sqlite";
import pg from "pg";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { openSqlite } from "../../src/storage/sqlite/driver.ts";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { applicationPool } from "../support/pool.ts";
import { effect, effects, makeEffects, transactionOn } from "../sagas/support/effects-table.ts";
import { gate } from "../sagas/support/gate.ts";

onEachDatabase((database) => {
  it("[K-10] an act and an undo can use the only connection, because nobody holds it meanwhile", async () => {
    const db = await database.open({ connections: 1 });
    const seen: unknown[] = [];
    const look = async (): Promise<void> => void seen.push((await db.query(sql`select 1 as one`))[0]);
    const looking = saga("looking", z.object({}))
      .step("one", { act: look, compensate: look })
      .step("two", {
        act: async () => (await look(), Promise.reject(new TypeError("no"))),
        retry: { attempts: 1 },
      });
    const amends = await database.amends({ sagas: [looking], database: db });
    await database.worker(amends);
    const runs = await Promise.all(Array.from({ length: 10 }, () => amends.start(looking, {})));
    for (const run of runs) expect(await run.result()).toMatchObject({ status: "FAILED" });
    expect(seen).toEqual(Array.from({ length: 30 }, () => ({ one: 1 })));
  });

  it("[K-11] one connection carries fifty sagas at once, transactional steps included", async () => {
    const db = await database.open({ connections: 1 });
    await makeEffects(db);
    const booked = saga("booked", z.object({ n: z.number() }))
      .step("one", { act: ({ input }) => input.n })
      .step("two", {
        transaction: transactionOn(database.name),
        act: async ({ tx, input }) => {
          await effect(tx, `effect ${String(input.n).padStart(2, "0")}`);
          return input.n;
        },
      })
      .step("three", { act: ({ results }) => results.two + 1 });
    const amends = await database.amends({ sagas: [booked], database: db });
    await database.worker(amends, { concurrency: 50 });
    const runs = await Promise.all(Array.from({ length: 50 }, (_, n) => amends.start(booked, { n })));
    const outcomes = await Promise.all(runs.map((run) => run.result()));
    outcomes.forEach((outcome, n) =>
      expect(outcome).toMatchObject({ status: "COMPLETED", results: { three: n + 1 } }),
    );
    expect(await effects(db)).toHaveLength(50);
  });

  it("[K-11] with one connection, orders of people, reads and starts go on while a call runs", async () => {
    const held = gate();
    const slow = saga("slow", z.object({})).step("one", {
      act: () => held.pass(),
      compensate: () => undefined,
    });
    const amends = await database.amends({ sagas: [slow], connections: 1 });
    await database.worker(amends);
    const run = await amends.start(slow, {}, { id: "one" });
    await held.reached;
    expect(await amends.inspect("one")).toMatchObject({ status: "RUNNING" });
    expect((await amends.start(slow, {}, { id: "one" })).created).toBe(false);
    expect(await amends.attention.list()).toMatchObject({ items: [] });
    await amends.cancel("one", { reason: "changed my mind" });
    held.open();
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
  });

  it("[K-11] Amends called from inside a transactional step without its tx is refused, not left to wait for ever", async () => {
    const codes: unknown[] = [];
    const inner = saga("inner", z.object({})).step("one", { act: () => 1 });
    const db = await database.open({ connections: 1 });
    const amends = await database.amends({ sagas: [inner], database: db });
    const note = (error: { code?: unknown }): void => void codes.push(error.code);
    await db.transaction(async () => {
      await amends.start(inner, {}).then(() => codes.push("started"), note);
      await amends.inspect("x").then(() => codes.push("looked"), note);
      await amends.attention.list().then(() => codes.push("listed"), note);
    }, true);
    expect(codes).toEqual(["NEEDS_TRANSACTION", "NEEDS_TRANSACTION", "NEEDS_TRANSACTION"]);
  });
});

onDatabase("postgres", (database) => {
  it("[K-12] a commit that PostgreSQL answers with a rollback is no commit, whoever hid the statement that failed", async () => {
    const db = await database.open();
    await makeEffects(db);
    const work = db.transaction(async (session, tx) => {
      await effect(tx, "lost");
      // The failure is swallowed, as by code that does not await its statement.
      await session.query(sql`select 1 / 0`).catch(() => undefined);
      return "done";
    });
    await expect(work).rejects.toMatchObject({ code: "25P02" });
    expect(await effects(db)).toEqual([]);
    // The connection is in order again.
    expect(await db.query(sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  it("[K-10] PostgreSQL sees no open transaction and no lock of ours while a call runs", async () => {
    const held = gate();
    const slow = saga("slow", z.object({})).step("one", { act: () => held.pass() });
    const amends = await database.amends({ sagas: [slow] });
    await database.worker(amends);
    const run = await amends.start(slow, {});
    await held.reached;
    const client = new pg.Client(await database.place());
    await client.connect();
    // A worker looks for other work meanwhile, which takes a moment; what the call held would stay.
    await vi.waitFor(async () => {
      const open = await client.query(`select state, query from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle' and xact_start is not null`);
      const locks = await client.query(`select l.mode from pg_locks l join pg_class c on c.oid = l.relation
        join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'amends' and l.pid <> pg_backend_pid()`);
      expect(open.rows).toEqual([]);
      expect(locks.rows).toEqual([]);
    });
    await client.end();
    held.open();
    await run.result();
  });

  it("[K-11] a pool of the caller's with one client is shared, not exhausted", async () => {
    const pool = applicationPool(await database.place(), 1);
    try {
      const db = postgres({ pool }) as Database;
      await migrate(db);
      const sharing = saga("sharing", z.object({}))
        .step("one", { act: async () => (await pool.query<{ n: number }>("select 7 as n")).rows[0]?.n })
        .step("two", { act: ({ results }) => results.one });
      const amends = await database.amends({ sagas: [sharing], database: db });
      await database.worker(amends);
      const runs = await Promise.all(Array.from({ length: 20 }, () => amends.start(sharing, {})));
      for (const run of runs) expect(await run.result()).toMatchObject({ results: { two: 7 } });
    } finally {
      await pool.end();
    }
  });
});

onDatabase("sqlite", (database) => {
  it("[K-10] SQLite is in no transaction while a call runs", async () => {
    const handle = openSqlite(await database.place());
    const db = sqlite(handle) as Database;
    await migrate(db);
    const open: unknown[] = [];
    const looking = saga("looking", z.object({}))
      .step("one", { act: () => void open.push(handle.isTransaction) })
      .step("two", { act: async () => void open.push(await Promise.resolve(handle.isTransaction)) });
    const amends = await database.amends({ sagas: [looking], database: db });
    await database.worker(amends);
    expect(await (await amends.start(looking, {})).result()).toMatchObject({ status: "COMPLETED" });
    expect(open).toEqual([false, false]);
    await amends.close();
    handle.close();
  });
});

it("[X-04] a setting that a database does not have is refused, and so is a pool that cannot be", () => {
  const url = "postgres://127.0.0.1:1/none";
  const misspelt = { url, conections: 3 } as { url: string };
  expect(() => postgres(misspelt)).toThrow(/conections/);
  for (const connections of [0, -1, Number.NaN, 1.5])
    expect(() => postgres({ url, connections })).toThrow(/whole number/);
  expect(() => sqlite(":memory:", { clokc: 1 } as object)).toThrow(/clokc/);
});
