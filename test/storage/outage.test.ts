/** A database that does not answer, or refuses to write: what callers, a stop and readiness say. */
import { once } from "node:events";
import { Amends, saga } from "amends";
import { postgres } from "amends/postgres";
import pg from "pg";
import { afterEach, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Health } from "../../src/console/contract.ts";
import { visit } from "../console/support/visit.ts";
import { onDatabase } from "../support/databases.ts";
import { forkCompiled, message } from "./support/children.ts";
import { proxyTo, type Proxy } from "./support/proxy.ts";

const HUNG_WORKER = "test/storage/support/hung-worker.ts";

const order = saga("order", z.object({})).step("one", { act: () => 1 });

onDatabase("postgres", (database) => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  const through = async (): Promise<Proxy> => {
    await database.open();
    const proxy = await proxyTo(await database.place());
    cleanups.push(() => proxy.close());
    return proxy;
  };

  /** A statement that is not answered never ends by itself. */
  const open = (url: string): Amends => {
    const db = postgres({ url, connections: 4, statementTimeout: "1h", callTimeout: "1s" });
    const amends = new Amends({ database: db, sagas: [order] });
    cleanups.push(() => amends.close({ deadline: "0s" }));
    return amends;
  };

  it("[P-05] readiness answers 503 within its limit while the database hangs", async () => {
    const { url, freeze, freezeNew } = await through();
    const amends = open(url);
    await amends.worker({ poll: "100ms" }).start();
    const visited = visit(amends);
    const ready = () => visited.as("reader", "/api/ready");
    await vi.waitFor(async () => expect((await ready()).status).toBe(200), 10_000);
    freezeNew(true);
    freeze();
    await vi.waitFor(async () => expect((await ready()).status).toBe(503), 20_000);
  });

  it("[P-05] readiness fails while the database refuses to write, with a worker and without", async () => {
    await database.open();
    const url = await database.place();
    const [working, idle] = [open(url), open(url)];
    await working.worker({ poll: "50ms" }).start();
    const [readyOf, readyIdle] = [working, idle].map((amends) => {
      const { as } = visit(amends);
      return () => as("reader", "/api/ready");
    }) as [() => Promise<Response>, () => Promise<Response>];
    await vi.waitFor(async () => expect((await readyOf()).status).toBe(200), 10_000);
    const turn = async (setting: string): Promise<void> => {
      const admin = new pg.Client({
        connectionString: url,
        options: "-c default_transaction_read_only=off",
      });
      await admin.connect();
      const { rows } = await admin.query<{ name: string }>("select current_database() as name");
      await admin.query(`alter database "${rows[0]?.name}" set default_transaction_read_only = ${setting}`);
      await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      await admin.end();
    };
    await turn("on");
    await vi.waitFor(async () => expect((await readyIdle()).status).toBe(503), 10_000);
    // The worker is asked as well: reads would succeed, and its claims are refused.
    await vi.waitFor(async () => {
      const { checks = [] } = (await (await readyOf()).json()) as Health;
      expect(checks.find(({ name }) => name === "worker")?.detail).toContain(
        "claim sagas: DATABASE_READ_ONLY",
      );
    }, 10_000);
    await turn("off");
    for (const ready of [readyOf, readyIdle])
      await vi.waitFor(async () => expect((await ready()).status).toBe(200), 20_000);
  });

  it("[K-18] a worker stops and its process exits although the database and a call hang", async () => {
    const { url, freeze, freezeNew } = await through();
    const child = await forkCompiled(HUNG_WORKER, [url]);
    expect(await message(child)).toBe("running");
    freezeNew(true);
    freeze();
    child.send("stop");
    expect(await message(child)).toBe("closed");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("[X-04] `start` and `worker.start()` fail within `callTimeout` while the database hangs", async () => {
    const { url, freeze, freezeNew } = await through();
    const amends = open(url);
    await amends.start(order, {}, { id: "before" });
    freezeNew(true);
    freeze();
    const unreachable = { code: "DATABASE_UNREACHABLE" };
    await expect(amends.start(order, {}, { id: "after" })).rejects.toMatchObject(unreachable);
    await expect(amends.worker().start()).rejects.toMatchObject(unreachable);
  });
});
