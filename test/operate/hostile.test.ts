import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { raw } from "../../src/storage/sql.ts";
import { systemClock } from "../../src/storage/clock.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  it("[S-18] the same id started many times at once is one saga, run once", async () => {
    const calls = new Map<string, number>();
    const order = saga("order", nothing).step("only", {
      act: ({ sagaId }) => void calls.set(sagaId, (calls.get(sagaId) ?? 0) + 1),
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends, { concurrency: 1_000 });
    for (let round = 0; round < 40; round++) {
      const id = `o-${round}`;
      const starts = Array.from({ length: 6 }, () => amends.start(order, {}, { id }));
      const outcomes = await Promise.all((await Promise.all(starts)).map((run) => run.result()));
      expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["COMPLETED"]));
    }
    expect([...calls.values()].filter((count) => count !== 1)).toEqual([]);
  });

  it("[K-17] a saga whose record cannot be read is set aside for a person, and costs the others nothing", async () => {
    const order = saga("order", nothing).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    const db = await database.open();
    const bad = await amends.start(order, {}, { id: "a-bad" });
    const good = await amends.start(order, {}, { id: "b-good" });
    await db.query(
      raw(`update ${db.dialect.table("saga_executions").text} set plan = '~~' where id = '${bad.id}'`),
    );
    await database.worker(amends);
    expect(await good.result()).toMatchObject({ status: "COMPLETED" });
    const { items } = await amends.attention.list();
    expect(items).toMatchObject([{ id: "a-bad", actions: [] }]);
    expect(items).toMatchObject([
      { kind: "stalled-saga", reason: expect.stringMatching(/cannot be read/) as string },
    ]);
  });

  it("[P-01] what is started while runOnce is under way is left for whoever comes next", async () => {
    const inner = saga("inner", nothing).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [inner] });
    const outer = saga("outer", nothing).step("only", {
      act: async () => (await other.start(inner, {}, { id: "inner" })).id,
    });
    const other = await database.amends({ sagas: [inner, outer] });
    await other.start(outer, {});
    expect(await other.worker().runOnce()).toBe(1);
    expect((await amends.inspect("inner"))?.status).toBe("PENDING");
    expect(await other.worker().runOnce()).toBe(1);
    expect((await amends.inspect("inner"))?.status).toBe("COMPLETED");
  });

  it("[K-18] a worker that is stopped before it began does not begin", async () => {
    const order = saga("order", nothing).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    const worker = amends.worker();
    const starting = worker.start();
    await worker.stop();
    await starting;
    const run = await amends.start(order, {});
    expect(await run.status()).toBe("PENDING");
  });

  it("[K-08] a caller that waits for a saga whose call never returns hears of its end", async () => {
    let calls = 0;
    const order = saga("order", nothing).step("only", {
      timeout: "50ms",
      retry: { base: "10ms" },
      act: () => {
        calls++;
        return calls === 1 ? new Promise(() => undefined) : "done";
      },
    });
    const amends = await database.amends({ sagas: [order], lease: "400ms", grace: "50ms" });
    const worker = await database.worker(amends, { poll: "50ms" });
    const run = await amends.start(order, {});
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { only: "done" } });
    await worker.stop({ deadline: "0s" });
  });

  it("[K-08] sagas that follow one another without a pause leave timers, and so renewals, their turn", async () => {
    const order = saga("order", nothing).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    let fired = false;
    setTimeout(() => (fired = true), 5);
    let sagas = 0;
    while (!fired && sagas < 2_000) {
      await (await amends.start(order, {})).result();
      sagas++;
    }
    expect(sagas).toBeLessThan(2_000);
  });

  it("[K-08] a wait that is longer than a timer can count does not end at once", async () => {
    let fired = false;
    const cancel = systemClock.after(2 ** 31, () => (fired = true));
    await new Promise((resolve) => systemClock.after(20, () => resolve(undefined)));
    cancel();
    expect(fired).toBe(false);
  });

  it("[K-08] a lease of a month can be asked for", async () => {
    const order = saga("order", nothing).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [order], lease: "30d" });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "COMPLETED" });
  });
});

onDatabase("postgres", (database) => {
  it("[K-17] a start that waits for somebody else's transaction holds up no checkpoint", async () => {
    const order = saga("order", nothing)
      .step("one", { act: () => 1 })
      .step("two", { act: () => 2 });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const db = await database.open();
    await db.transaction(async (_session, tx) => {
      await amends.start(order, {}, { id: "taken", tx });
      const blocked = amends.start(order, {}, { id: "taken" }).catch((error: unknown) => error);
      const waiting = raw("select 1 as one from pg_stat_activity where wait_event_type = 'Lock'");
      await expect.poll(async () => (await db.query(waiting)).length).toBe(1);
      const others = await Promise.all(
        [1, 2, 3].map(() => amends.start(order, {}).then((run) => run.result())),
      );
      expect(others.map(({ status }) => status)).toEqual(["COMPLETED", "COMPLETED", "COMPLETED"]);
      void blocked;
    });
  });
});
