/** The storage contract on sagas that the engine runs. */
import { saga } from "amends";
import { SqlSagaStorage } from "amends/storage";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { onlooker } from "../sagas/support/look.ts";

onEachDatabase((database) => {
  it("[S-02] setRecoveryAttempts excludes a saga of the engine from every claim, with its status unchanged, and 0 puts it back", async () => {
    const order = saga("order", z.object({})).step("one", { act: () => 1 });
    const clock = virtualClock();
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, sagas: [order] });
    const storage = new SqlSagaStorage(db);
    for (const id of ["o-1", "o-2"]) await amends.start(order, {}, { id });
    await storage.setRecoveryAttempts("o-1", 5);
    expect(await amends.worker().runOnce()).toBe(1);
    clock.jump(3_600_000);
    expect(await amends.worker().runOnce()).toBe(0);
    const look = await onlooker(database);
    expect(await look.row("o-1")).toMatchObject({ status: "PENDING", recovery_attempts: 5, version: 1 });
    const { items } = await amends.attention.list();
    expect(items).toMatchObject([
      { kind: "excluded-saga", id: "o-1", name: "order", attempts: 5, actions: [] },
    ]);
    expect(items[0]?.reason).toContain("it is PENDING, and no worker claims it");
    await storage.setRecoveryAttempts("o-1", 0);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await amends.inspect("o-1")).toMatchObject({ status: "COMPLETED", recoveryAttempts: 0 });
    expect((await amends.attention.list()).items).toEqual([]);
    await expect(storage.setRecoveryAttempts("o-1", 5)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
  });

  it("[S-03] the context and the version of a saga of the engine are true as the contract reads them", async () => {
    const order = saga("order", z.object({ n: z.number() })).step("one", { act: ({ input }) => input.n + 1 });
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [order] });
    await amends.start(order, { n: 1 }, { id: "o-1" });
    await amends.worker().runOnce();
    expect(await new SqlSagaStorage(db).loadSagaState("o-1")).toEqual({
      status: "COMPLETED",
      context: { input: { n: 1 }, results: { one: 2 } },
      version: (await amends.inspect("o-1"))?.revision,
    });
  });
});
