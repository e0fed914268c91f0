/** Connections that fall silent without closing, in front of a real PostgreSQL. */
import { once } from "node:events";
import { Amends, saga } from "amends";
import { postgres } from "amends/postgres";
import { virtualClock } from "amends/testing";
import { afterEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase } from "../support/databases.ts";
import { applicationPool } from "../support/pool.ts";
import { gate } from "../sagas/support/gate.ts";
import { forkCompiled, message } from "./support/children.ts";
import { proxyTo, type Proxy } from "./support/proxy.ts";

const SILENT_EXIT = "test/storage/support/silent-exit.ts";

const order = saga("order", z.object({}))
  .step("one", { act: () => 1 })
  .step("two", { act: () => 2 });

onDatabase("postgres", (database) => {
  let proxy: Proxy | undefined;
  // Before the database is thrown away, which waits for whoever is still about to sign in.
  afterEach(() => proxy?.close());
  const through = async (): Promise<Proxy> => {
    await database.open();
    return (proxy = await proxyTo(await database.place()));
  };

  it("[X-04] when every open connection falls silent, a worker replaces them and finishes its sagas", async () => {
    const { url, freeze } = await through();
    const db = postgres({ url, connections: 2, statementTimeout: "1s" });
    const held = gate();
    const waiting = saga("waiting", z.object({}))
      .step("hold", { act: () => held.pass() })
      .step("then", { act: () => 1 });
    const amends = new Amends({ database: db, sagas: [order, waiting] });
    const worker = amends.worker({ poll: "200ms" });
    await worker.start();
    const before = await amends.start(waiting, {}, { id: "before" });
    await held.reached;
    freeze();
    held.open();
    const after = vi.waitFor(() => amends.start(order, {}, { id: "after" }), { timeout: 20_000 });
    expect(await before.result()).toMatchObject({ status: "COMPLETED" });
    expect(await (await after).result()).toMatchObject({ status: "COMPLETED" });
    await amends.close({ deadline: "1s" });
  });

  it("[X-04] a statement of a caller's pool has a limit as well, and its silent connection leaves the pool", async () => {
    const { url, freeze } = await through();
    const pool = applicationPool(url, 1);
    const db = postgres({ pool, statementTimeout: "500ms" });
    await db.query(sql`select 1 as one`);
    freeze();
    await expect(db.query(sql`select 1 as one`)).rejects.toThrow("timeout");
    expect(await db.query(sql`select 1 as one`)).toEqual([{ one: 1 }]);
    await pool.end();
  });

  it("[X-04] one silent connection is enough to suspect all that were open then", async () => {
    const { url, freeze } = await through();
    const db = postgres({ url, connections: 3, statementTimeout: "500ms", notify: false });
    await Promise.all([1, 2, 3].map(() => db.query(sql`select pg_sleep(0.1)`)));
    freeze();
    await expect(db.query(sql`select 1 as one`)).rejects.toThrow("timeout");
    // Two of these would meet a silent connection.
    const answers = await Promise.all([1, 2, 3].map(() => db.query(sql`select 1 as one`)));
    expect(answers).toEqual([1, 2, 3].map(() => [{ one: 1 }]));
    await db.close();
  });

  it("[K-12] after one read-only refusal no connection of that time is used again", async () => {
    await database.open();
    const db = postgres({ url: await database.place(), connections: 3, notify: false });
    const backends = async (): Promise<readonly unknown[]> => {
      const asked = [1, 2, 3].map(() => db.query(sql`select pg_backend_pid() as pid, pg_sleep(0.1)`));
      return (await Promise.all(asked)).map(([row]) => row?.["pid"]);
    };
    const before = await backends();
    expect(new Set(before).size).toBe(3);
    const refuse = sql`do $$ begin raise exception 'read-only' using errcode = '25006'; end $$`;
    await expect(db.query(refuse)).rejects.toMatchObject({ code: "25006" });
    expect((await backends()).filter((pid) => before.includes(pid))).toEqual([]);
    await db.close();
  });

  it("[X-04] a silent listening connection is noticed and replaced", async () => {
    const clock = virtualClock();
    const { url, freeze } = await through();
    const db = postgres({ url, clock, statementTimeout: "500ms" });
    const direct = postgres(await database.place());
    let notices = 0;
    const stop = db.listen?.(() => void notices++);
    await vi.waitFor(() => expect(notices).toBe(1));
    freeze();
    // It is asked whether it still answers, does not, and is replaced: its successor gives the first notice.
    await vi.waitFor(
      async () => {
        await clock.advance(20_000);
        expect(notices).toBe(2);
      },
      { timeout: 15_000, interval: 500 },
    );
    await direct.query(direct.dialect.notify()!);
    await vi.waitFor(() => expect(notices).toBe(3));
    stop?.();
    await db.close();
    await direct.close();
  });

  it("[X-04] a process whose connections have fallen silent exits after it has closed its database", async () => {
    const { url, freeze } = await through();
    const child = await forkCompiled(SILENT_EXIT, [url]);
    await message(child);
    freeze();
    child.send("close");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("[K-08] a lease that cannot be renewed because the database is silent is let go, and its call is told", async () => {
    await migrate(await database.open());
    const { url, freeze, freezeNew } = await through();
    const told = gate<unknown>();
    const slow = saga("slow", z.object({})).step("one", {
      act: ({ signal }) => {
        signal.addEventListener("abort", () => told.open(signal.reason));
        void told.pass();
        return new Promise<never>(() => undefined);
      },
    });
    const db = postgres({ url, connections: 2 });
    const amends = new Amends({ database: db, sagas: [slow], lease: "2s" });
    await amends.worker().start();
    await amends.start(slow, {}, { id: "held" });
    await told.reached;
    freezeNew(true);
    freeze();
    expect(String(await told.pass())).toContain("lost");
    await amends.close({ deadline: "0s" });
  });
});
