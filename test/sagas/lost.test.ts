/** Lines of the log without a saga: a database that went back in time beside running workers leaves them behind. */
import { saga, type Amends, type Logger } from "amends";
import type { AttentionItem } from "amends/attention";
import { expect, it } from "vitest";
import { z } from "zod";
import { Retention } from "../../src/operate/retention/retention.ts";
import { LogScan } from "../../src/sagas/lost/log-scan.ts";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { recorded } from "../conformance/recorded-database.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { gate } from "./support/gate.ts";

const nothing = z.object({});
const order = saga("order", nothing).step("charge", { act: () => 1 });

/** Lines without a saga, as a worker of a lost database leaves them. */
async function addLines(db: Database, id: string, steps: readonly string[]): Promise<void> {
  for (const [n, step] of steps.entries())
    await db.query(sql`insert into ${db.dialect.table("saga_logs")} (saga_id, id, token, step_name, action, status, created_at)
      values (${id}, ${n + 2}, 4294967299, ${step}, 'act', 'COMPLETED', ${db.dialect.now()})`);
}

async function deleteFrom(db: Database, table: "saga_executions" | "saga_logs", id: string): Promise<void> {
  const column = table === "saga_logs" ? sql`saga_id` : sql`id`;
  await db.query(sql`delete from ${db.dialect.table(table)} where ${column} = ${id}`);
}

async function lost(amends: Amends): Promise<readonly AttentionItem[]> {
  return (await amends.attention.list({ kind: "lost-saga" })).items;
}

onEachDatabase((database) => {
  it("[P-02][S-16] lines without a saga are an attention item, until a person has removed them", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, sagas: [order] });
    await amends.start(order, {}, { id: "o-2" });
    await addLines(db, "o-1", ["charge", "$claim"]);
    await addLines(db, "o-3", ["$claim"]);
    expect(await lost(amends)).toEqual([]);
    await amends.worker().runOnce();
    expect(await lost(amends)).toMatchObject([
      {
        id: "o-1",
        name: "saga",
        lines: 2,
        step: "charge",
        actions: [],
        since: new Date(clock.virtualNowMs()),
      },
      { id: "o-3", lines: 1, step: undefined },
    ]);
    expect((await lost(amends))[0]?.reason).toBe(
      "the database has lost the saga and kept 2 lines of its log, up to step charge: it went back in time. Check the effects of its steps, then delete the lines (docs/guides/failover.md)",
    );
    expect((await amends.attention.count()).kinds["lost-saga"]).toEqual({ value: 2, exact: true });
    // As the runbook says. A saga that is started with the id stalls, and is an item of its own.
    await deleteFrom(db, "saga_logs", "o-1");
    await amends.start(order, {}, { id: "o-3" });
    expect(await lost(amends)).toEqual([]);
    clock.jump(61_000);
    while ((await amends.worker().runOnce()) > 0);
    expect((await amends.attention.list()).items).toMatchObject([{ kind: "stalled-saga", id: "o-3" }]);
  });

  it("[P-02][P-06] sagas that run, and sagas that retention has removed with their lines, are no alarm", async () => {
    const clock = virtualClock();
    const held = gate();
    const slow = saga("slow", nothing).step("wait", { act: () => held.pass() });
    const amends = await database.amends({ clock, sagas: [order, slow] });
    for (const id of ["o-1", "o-2"]) await amends.start(order, {}, { id });
    await amends.start(slow, {}, { id: "s-1" });
    const first = amends.worker().runOnce();
    await held.reached;
    const retention = new Retention(amends.context, { sagas: "1d" }, (id) => amends.inspect(id));
    await until(async () => (await amends.inspect("o-2"))?.status === "COMPLETED");
    const watcher = await database.amends({ clock, sagas: [order] });
    for (const days of [0, 2, 4]) {
      clock.jump(days * 86_400_000);
      await retention.runOnce();
      await watcher.worker().runOnce();
      expect(await lost(amends)).toEqual([]);
    }
    expect(await amends.inspect("o-1")).toBeUndefined();
    held.open();
    await first;
  });

  it("[P-02][K-12] a worker whose saga is gone says so, and what it has left behind needs attention at once", async () => {
    const clock = virtualClock();
    const held = gate();
    const errors: string[] = [];
    const logger: Logger = {
      info: () => undefined,
      warn: () => undefined,
      error: (fields, message) => void errors.push(`${String(fields["id"])}: ${message}`),
    };
    const chain = saga("chain", nothing)
      .step("one", { act: () => 1 })
      .step("two", { act: () => held.pass() });
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, sagas: [chain], logger });
    await database.worker(amends);
    await amends.start(chain, {}, { id: "c-1" });
    await held.reached;
    // Nothing says that the database was replaced: the next renewal of the lease finds it.
    await deleteFrom(db, "saga_executions", "c-1");
    await clock.advance(20_000);
    expect(await until(async () => (await lost(amends)).length > 0 && (await lost(amends)))).toMatchObject([
      { id: "c-1", name: "chain", step: "two" },
    ]);
    expect(errors).toEqual([
      "c-1: amends: the database no longer has a saga that ran here: it went back in time; see docs/guides/failover.md",
    ]);
    held.open();
    await until(() => amends.counters.lost === 1);
    expect(errors).toHaveLength(1);
  });

  it("[P-02] all workers together look through the log part by part, one part a minute, round after round", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, sagas: [order] });
    for (const id of ["a", "b", "c", "d"]) await addLines(db, id, ["charge", "ship"]);
    const asked: string[] = [];
    const query: Database["query"] = (statement) => (asked.push(statement.sql), db.query(statement));
    const watched = { ...recorded(db).database, query };
    const workers = [new LogScan(watched, 3), new LogScan(watched, 3)];
    const pass = async (): Promise<readonly string[]> => {
      for (const worker of workers) await worker.passIfDue();
      return (await lost(amends)).map(({ id }) => id);
    };
    const passes = (): number => asked.filter((text) => text.includes("looked")).length;
    // Three lines are read at a time: both of `a` and one of `b`, and so on.
    expect(await pass()).toEqual(["a", "b"]);
    const isAsked = asked.length;
    clock.jump(59_999);
    expect(await pass()).toEqual(["a", "b"]);
    expect(asked).toHaveLength(isAsked);
    clock.jump(1);
    expect(await pass()).toEqual(["a", "b", "c", "d"]);
    // The end of the log: the next pass begins at its start.
    clock.jump(60_000);
    await pass();
    await addLines(db, "a0", ["charge"]);
    clock.jump(60_000);
    expect(await pass()).toContain("a0");
    expect(passes()).toBe(4);
  });
});
