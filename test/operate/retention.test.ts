import { AmendsError, Retention, type SagaView } from "amends";
import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { openShop } from "../console/support/shop.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";

const DAY_MS = 86_400_000;

onEachDatabase((database) => {
  it("[P-06] ended sagas go after their time, in batches, with their logs; what is open or stalled stays", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const shop = await openShop(database, { database: db });
    const { amends } = shop;
    for (const id of ["c-1", "c-2", "c-3"]) await shop.run("COMPLETED", id);
    await shop.run("FAILED", "f-1");
    await shop.run("STALLED", "s-1");
    await clock.advance(31 * DAY_MS);
    await shop.run("COMPLETED", "late");
    await amends.start(shop.order, { orderId: "p-1", end: "COMPLETED" }, { id: "p-1" });
    const kept: SagaView[] = [];
    const retention = new Retention({
      amends,
      completed: "30d",
      failed: "60d",
      batch: 2,
      archive: (sagas) => void kept.push(...sagas),
    });
    expect([await retention.runOnce(), await retention.runOnce(), await retention.runOnce()]).toEqual([
      2, 1, 0,
    ]);
    expect(kept.map(({ id }) => id)).toEqual(["c-1", "c-2", "c-3"]);
    const left = async (): Promise<string[]> => {
      const rows = await db.query(sql`select id from ${db.dialect.table("saga_executions")} order by id`);
      return rows.map((row) => row["id"] as string);
    };
    expect(await left()).toEqual(["f-1", "late", "p-1", "s-1"]);
    const logs = await db.query(
      sql`select distinct saga_id from ${db.dialect.table("saga_logs")} where saga_id in ('c-1', 'c-2', 'c-3')`,
    );
    expect(logs).toEqual([]);
    await clock.advance(31 * DAY_MS);
    expect(await retention.runOnce()).toBe(2);
    expect(await left()).toEqual(["p-1", "s-1"]);
  });

  it("[P-06] what could not be kept elsewhere is not removed", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    await shop.run("COMPLETED", "c-1");
    const archive = (): never => {
      throw new Error("the archive is full");
    };
    const retention = new Retention({ amends: shop.amends, completed: "1d", archive });
    await clock.advance(2 * DAY_MS);
    await expect(retention.runOnce()).rejects.toThrow("the archive is full");
    expect((await shop.amends.inspect("c-1"))?.status).toBe("COMPLETED");
  });

  it("[P-06] the worker sees to it by itself", async () => {
    const clock = virtualClock();
    const shop = await openShop(database, { clock });
    await shop.run("COMPLETED", "c-1");
    await clock.advance(2 * DAY_MS);
    const retention = new Retention({ amends: shop.amends, completed: "1d" });
    expect(retention.room).toBe(0);
    await shop.amends.worker().runOnce();
    expect(await shop.amends.inspect("c-1")).toBeUndefined();
  });

  it("[P-06] a policy that says nothing, or too much, is refused", async () => {
    const { amends } = await openShop(database);
    for (const options of [
      {},
      { completed: "0s" as const },
      { completed: "1d" as const, batch: 0 },
      { nonsense: 1 } as object,
    ]) {
      expect(() => new Retention({ amends, ...options })).toThrow(AmendsError);
    }
  });
});
