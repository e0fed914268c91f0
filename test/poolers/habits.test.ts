/** The habits of poolers, one by one: what each refuses, ignores or forgets, and how Amends finds it out. */
import { saga } from "amends";
import { postgres } from "amends/postgres";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { z } from "zod";
import { accessOf } from "../../src/cli/doctor/access.ts";
import { DatabaseReplaced, type Database } from "../../src/storage/database.ts";
import { persist } from "../../src/storage/retry.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { createDatabase, startPostgres } from "../../tools/postgres-server.mjs";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { gate } from "../sagas/support/gate.ts";
import { startTestPooler, type Habits, type TestPooler } from "./support/transaction-pooler.ts";

interface Way {
  readonly pooler: TestPooler;
  /** The URL of the server itself. */
  readonly direct: string;
  readonly through: string;
}

async function wayTo(database: TestDatabase, habits: Habits = {}): Promise<Way> {
  const pooler = await startTestPooler(inject("postgresUrl"), habits);
  onTestFinished(() => pooler.stop());
  await database.open();
  const direct = await database.place();
  return { pooler, direct, through: pooler.through(direct) };
}

const one = saga("one", z.object({})).step("one", { act: () => 1 });

onDatabase("postgres", (database) => {
  const opened = (db: Database<pg.ClientBase>): typeof db => {
    onTestFinished(() => db.close());
    return db;
  };

  it("[C-04] a pooler that ignores settings is found out by the first connection, and they hold in each transaction", async () => {
    const { pooler, through } = await wayTo(database, { parameters: "ignored" });
    const db = opened(postgres(through));
    const ask = sql`select current_setting('lock_timeout') as locks, current_setting('statement_timeout') as statements,
      current_setting('enable_seqscan') as scans`;
    for (let n = 0; n < 5; n++)
      expect(await db.query(ask)).toEqual([{ locks: "5s", statements: "30s", scans: "off" }]);
    expect(await db.batch([ask, ask])).toHaveLength(2);
    expect(db.access?.isPooled).toBe(true);
    const foreign = await db.transaction((session) => session.query(ask), true);
    expect(foreign).toEqual([{ locks: "5s", statements: "30s", scans: "on" }]);
    expect(pooler.spread()[0]).toBe(3);
  });

  it("[C-04] nothing of Amends stays in the sessions that a pooler lends to others: no setting, no prepared statement", async () => {
    const { through } = await wayTo(database);
    const amends = await database.amends({
      database: postgres({ url: through, connections: 3 }),
      sagas: [one],
    });
    await database.worker(amends);
    const runs = await Promise.all(Array.from({ length: 20 }, () => amends.start(one, {})));
    for (const run of runs) expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    const other = new pg.Client(through);
    await other.connect();
    const left: unknown[] = [];
    for (let n = 0; n < 3; n++) {
      const { rows } = await other.query(
        "select current_setting('enable_seqscan') as scans, current_setting('lock_timeout') as locks, (select count(*)::int from pg_prepared_statements) as prepared",
      );
      left.push(...(rows as unknown[]));
    }
    await other.end();
    expect(left).toEqual(Array.from({ length: 3 }, () => ({ scans: "on", locks: "0", prepared: 0 })));
  });

  it("[C-04] a pooler that shows itself only by sessions that change is found out at the first refused statement, and nothing is lost", async () => {
    const { through } = await wayTo(database, { parameters: "ignored" });
    // Parameters of the caller's own: Amends cannot tell by its own whether they arrived.
    const url = `${through}?options=-c%20jit%3Doff`;
    const db = postgres({ url, connections: 3 });
    const amends = await database.amends({ database: db, sagas: [one] });
    await database.worker(amends);
    const runs = await Promise.all(Array.from({ length: 50 }, () => amends.start(one, {})));
    for (const run of runs) expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(db.access?.isPooled).toBe(true);
  });

  it('[C-04] with `pooler: "none"` a refusal is told as that of a pooler, with the parameter that it refused', async () => {
    const { through } = await wayTo(database);
    const amends = await database.amends({
      database: postgres({ url: through, pooler: "none" }),
      sagas: [one],
    });
    await expect(amends.start(one, {})).rejects.toMatchObject({
      code: "DATABASE_REFUSED",
      message: expect.stringMatching(
        /refused by a pooler .*unsupported startup parameter: .*`pooler: "transaction"`/,
      ) as unknown,
    });
  });

  it.each(["accepted", "refused"] as const)(
    "[C-04] where LISTEN is %s and leads nowhere, `listenUrl` wakes workers; without it they poll, and the doctor says both",
    async (listen) => {
      const { through, direct } = await wayTo(database, { listen });
      const deaf = opened(postgres({ url: through }));
      await deaf.open();
      expect(await accessOf(deaf)).toMatchObject([
        { check: "pooler", level: "warn" },
        { check: "wake-up", level: "warn", advice: expect.stringContaining("`listenUrl`") as unknown },
      ]);
      const hearing = postgres({ url: through, pooler: "transaction", listenUrl: direct });
      expect(await accessOf(hearing)).toMatchObject([
        { check: "pooler", level: "warn" },
        { check: "wake-up", level: "ok" },
      ]);
      const called = gate();
      const woken = saga("woken", z.object({})).step("one", { act: () => void called.pass() });
      const worker = await database.amends({ database: hearing, sagas: [woken] });
      await database.worker(worker, { poll: "1h" });
      const starter = await database.amends({ database: postgres(through), sagas: [woken] });
      await starter.start(woken, {});
      await called.reached;
    },
  );

  it("[C-04] a direct connection keeps its settings, names its statements by their text and is woken", async () => {
    await database.open();
    const db = opened(postgres({ url: await database.place(), connections: 1 }));
    await db.query(sql`select 1 as one`);
    await db.query(sql`select 1 as one`);
    const names = await db.query(
      sql`select name from pg_prepared_statements where statement = 'select 1 as one'`,
    );
    expect(names).toEqual([{ name: expect.stringMatching(/^amends_[0-9a-f]{32}$/) as unknown }]);
    expect(await accessOf(db)).toMatchObject([
      { check: "pooler", level: "ok" },
      { check: "wake-up", level: "ok" },
    ]);
  });

  it("[C-04][K-12] a pooler that leads to another server is noticed before anything is written there", async () => {
    const { pooler, through } = await wayTo(database);
    const other = await startPostgres({ own: true });
    onTestFinished(() => other.stop());
    const name = new URL(through).pathname.slice(1);
    const there = new pg.Client(await createDatabase(other.url, name));
    await there.connect();
    onTestFinished(() => there.end());
    const table = "create table public.marks (n integer)";
    await there.query(table);
    const db = opened(postgres({ url: through, connections: 2 }));
    await db.query(raw(table));
    const epoch = db.epoch as number;
    const mark = sql`insert into public.marks values (1)`;
    pooler.leadTo(other.url);
    await expect(persist(db, () => db.batch([mark, mark], epoch))).rejects.toSatisfy(
      (error) => (error as Error).cause instanceof DatabaseReplaced || error instanceof DatabaseReplaced,
    );
    expect(db.epoch).toBe(epoch + 1);
    expect((await there.query("select n from public.marks")).rows).toEqual([]);
    await db.query(mark);
    expect((await there.query("select n from public.marks")).rows).toEqual([{ n: 1 }]);
  });

  it("[C-04] an unknown pooler is refused, and so is an unknown durability", () => {
    const url = "postgres://app@db/shop";
    expect(() => postgres({ url, pooler: "session" as "none" })).toThrow(
      '`pooler` must be "transaction" or "none".',
    );
    expect(() => postgres({ url, durability: "no" as "fsync" })).toThrow(
      '`durability` must be "fsync" or "server".',
    );
  });
});
