/**
 * A run with a budget on a PostgreSQL that falls silent. Statements, new connections and calls have limits of an hour here,
 * and time is virtual: only the budget can end the run.
 */
import { Amends, saga, type AnySaga } from "amends";
import { postgres } from "amends/postgres";
import { workHandler } from "amends/serverless";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { sql } from "../../src/storage/sql.ts";
import { proxyTo, type Proxy } from "../storage/support/proxy.ts";
import { onDatabase, virtualClock } from "../support/databases.ts";
import { gatekeeper } from "./support/hold.ts";

const nothing = z.object({});

onDatabase("postgres", (database) => {
  const gate = gatekeeper();
  const clock = virtualClock();
  let proxy: Proxy;
  let amends: Amends;
  // The proxy first: closing waits for the server's answer.
  afterEach(async () => {
    await proxy.close();
    await amends.close({ deadline: "0s" });
  });

  async function behindProxy(...sagas: readonly AnySaga[]): Promise<void> {
    await migrate(await database.open({ clock }));
    proxy = await proxyTo(await database.place());
    const never = { statementTimeout: "1h", callTimeout: "1h" } as const;
    const connection = { connectionTimeoutMillis: 3_600_000 };
    const db = postgres({ url: proxy.url, connection, clock, notify: false, ...never });
    amends = new Amends({ database: db, sagas });
  }

  function fallSilent(): void {
    proxy.freezeNew(true);
    proxy.freeze();
  }

  /** What a promise has come to, and when, without waiting for it. */
  function watched<T>(run: Promise<T>): { ended?: T | Error; afterMs?: number } {
    const begunAtMs = clock.monotonicMs();
    const seen: { ended?: T | Error; afterMs?: number } = {};
    const end = (ended: T | Error): void =>
      void Object.assign(seen, { ended, afterMs: clock.monotonicMs() - begunAtMs });
    run.then(end, end);
    return seen;
  }

  /** Time that is over by now is noticed, and no time passes. */
  const settled = async (seen: { ended?: unknown }): Promise<unknown> => {
    await clock.advance(0);
    return seen.ended;
  };

  it("[C-09] a run whose database does not answer at its beginning ends in time, by name, and has claimed nothing", async () => {
    await behindProxy();
    proxy.freezeNew(true);
    const run = watched(amends.worker().runOnce({ budget: "8s" }));
    await clock.advance(4_999);
    expect(run.ended).toBeUndefined();
    await clock.advance(1);
    await expect.poll(() => settled(run)).toMatchObject({ code: "DATABASE_UNREACHABLE" });
    expect(run.afterMs).toBe(5_000);
  });

  it("[C-09] a cron route whose database does not answer is answered with 503 in time", async () => {
    await behindProxy();
    proxy.freezeNew(true);
    const secret = "a secret of some length";
    const work = workHandler(amends, { budget: "8s", secret });
    const headers = { authorization: `Bearer ${secret}` };
    const run = watched(work(new Request("http://localhost/work", { headers })));
    await clock.advance(5_000);
    await expect.poll(() => settled(run)).toMatchObject({ status: 503 });
  });

  it("[C-09] a run whose database falls silent while it works ends with its budget", async () => {
    const reached = gate();
    const slow = saga("slow", nothing).step("only", {
      act: async ({ signal }) => {
        void reached.pass();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    await behindProxy(slow);
    await amends.start(slow, {}, { id: "one" });
    // A lease of 60 s: a renewal is under way from 7.5 s on.
    const run = watched(amends.worker().runOnce({ budget: "10s" }));
    await reached.reached;
    fallSilent();
    await clock.advance(10_000);
    await expect.poll(() => settled(run)).toEqual({ items: 1, more: true, nextAt: undefined });
    expect(run.afterMs).toBeLessThanOrEqual(10_000);
  });

  it("[C-09] a claim that is answered after the time for work is given back as well", async () => {
    const slow = saga("slow", nothing).step("only", {
      act: ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)),
    });
    await behindProxy(slow);
    await amends.start(slow, {}, { id: "one" });
    const direct = await database.open();
    const sagas = direct.dialect.table("saga_executions");
    const waiting = sql`select 1 from pg_locks where not granted and relation = cast(${"amends.saga_executions"} as regclass)`;
    const run = await direct.transaction(async (session) => {
      await session.query(sql`lock table ${sagas} in exclusive mode`);
      const begun = watched(amends.worker().runOnce({ budget: "8s" }));
      await expect.poll(() => session.query(waiting)).toHaveLength(1);
      await clock.advance(5_000);
      expect(begun.ended).toBeUndefined();
      return begun;
    });
    await expect
      .poll(async () => {
        await clock.advance(10);
        return run.ended;
      })
      .toEqual({ items: 1, more: true, nextAt: undefined });
    expect(run.afterMs).toBeLessThanOrEqual(8_000);
    expect(await amends.inspect("one")).toMatchObject({ status: "RUNNING", owner: undefined });
  });

  it("[C-09] a run that is not told in time when the next work is due reports its work, and asks to run again", async () => {
    const order = saga("order", nothing).step("only", { act: () => 1 });
    await behindProxy(order);
    await amends.start(order, {}, { id: "one" });
    // The statement that asks for the next due times of all parts, and no other, has this column.
    const isSilent = proxy.freezeAt("figure_3");
    const run = watched(amends.worker().runOnce({ budget: "8s" }));
    await isSilent;
    await clock.advance(7_999);
    expect(run.ended).toBeUndefined();
    await clock.advance(1);
    await expect.poll(() => settled(run)).toEqual({ items: 1, more: true, nextAt: undefined });
    expect(run.afterMs).toBe(8_000);
  });
});
