/** Several sagas are started in one commit: all of them or none. */
import { saga, type Amends, type AmendsError } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onDatabase, onEachDatabase, virtualClock } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { onlooker } from "./support/look.ts";
import { watched } from "./support/watched.ts";

const schema = z.object({ sku: z.string() });
const order = saga("order", schema).step("one", { act: ({ input }) => input.sku });
const refund = saga("refund", schema).step("one", { act: ({ input }) => input.sku });

async function runAll(amends: Amends): Promise<void> {
  while ((await amends.worker().runOnce()) > 0);
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-39] many sagas are started in one commit, and their handles come in the order of the starts", async () => {
    const { database: db, commits } = watched(await database.open());
    const amends = await database.amends({ database: db, sagas: [order] });
    const skus = Array.from({ length: 1_000 }, (_, n) => `sku-${n}`);
    const runs = await amends.startMany(
      order,
      skus.map((sku, n) => (n % 2 ? { input: { sku }, id: `odd-${n}` } : { input: { sku } })),
    );
    expect(commits()).toBe(1);
    expect(runs.every(({ created }) => created)).toBe(true);
    expect(amends.counters.started).toBe(1_000);
    await runAll(amends);
    for (const n of [0, 1, 500, 999])
      expect(await runs[n]?.result()).toMatchObject({ results: { one: skus[n] } });
    expect(runs[1]?.id).toBe("odd-1");
    expect(await amends.startMany(order, [])).toEqual([]);
  });

  it("[S-39] each start has its own time, priority and attributes", async () => {
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    await amends.startMany(order, [
      { input: { sku: "a" }, id: "a", priority: 2 },
      { input: { sku: "b" }, id: "b", delay: "1h", attributes: { tenant: "acme" } },
      { input: { sku: "c" }, id: "c", runAt: new Date(clock.virtualNowMs() + 60_000) },
    ]);
    const seen = await Promise.all(["a", "b", "c"].map((id) => amends.inspect(id)));
    expect(seen.map((view) => [view?.priority, view?.attributes, view?.runAt?.getTime()])).toEqual([
      [2, {}, undefined],
      [0, { tenant: "acme" }, clock.virtualNowMs() + 3_600_000],
      [0, {}, clock.virtualNowMs() + 60_000],
    ]);
  });

  it("[S-39][S-18] ids that exist with the same input are found; the others are created", async () => {
    const amends = await database.amends({ sagas: [order] });
    await amends.start(order, { sku: "tea" }, { id: "o-1" });
    await runAll(amends);
    const runs = await amends.startMany(order, [
      { input: { sku: "rice" }, id: "o-2" },
      { input: { sku: "tea" }, id: "o-1" },
      { input: { sku: "rice" }, id: "o-2" },
    ]);
    expect(runs.map(({ id, created }) => [id, created])).toEqual([
      ["o-2", true],
      ["o-1", false],
      ["o-2", false],
    ]);
    expect(await runs[1]?.result()).toMatchObject({ status: "COMPLETED" });
    expect(await (await onlooker(database)).count()).toBe(2);
  });

  it("[S-39] one conflict refuses all, and nothing is written", async () => {
    const amends = await database.amends({ sagas: [order, refund] });
    await amends.start(refund, { sku: "tea" }, { id: "o-2" });
    const look = await onlooker(database);
    const good = { input: { sku: "tea" }, id: "o-1", attributes: { tenant: "acme" } };
    for (const bad of [
      { input: { sku: "tea" }, id: "o-2" },
      { input: { sku: "rice" }, id: "o-1" },
    ])
      await expect(amends.startMany(order, [good, bad])).rejects.toMatchObject({
        code: "SAGA_CONFLICT",
        details: { id: bad.id },
      });
    expect(await look.count()).toBe(1);
    // A caller that goes on after the refusal commits what it wrote itself, and none of the starts.
    const db = await database.open();
    const joined = await database.amends({ database: db, sagas: [order, refund] });
    await db.transaction(async (_session, tx) => {
      await joined.start(refund, { sku: "milk" }, { id: "r-1", tx });
      const refused = joined.startMany(order, [good, { input: { sku: "tea" }, id: "o-2" }], { tx });
      await expect(refused).rejects.toMatchObject({ code: "SAGA_CONFLICT" });
    });
    expect(await look.count()).toBe(2);
    expect(await amends.inspect("o-1")).toBeUndefined();
  });

  it("[S-39] one bad input, id or option refuses all, and the error names the item", async () => {
    const amends = await database.amends({ sagas: [order] });
    const good = { input: { sku: "tea" } };
    for (const [bad, message] of [
      [{ input: {} }, /^amends\.startMany, item 1: the input does not fit its schema: sku/],
      [{ input: { sku: "tea" }, id: "" }, /must not be empty/],
      [{ input: { sku: "tea" }, priority: 99 }, /^amends\.startMany, item 1: `priority`/],
      [{ inptu: { sku: "tea" } }, /item 1: there is no option named inptu/],
      [undefined, /item 1 needs an object/],
    ] as const)
      await expect(amends.startMany(order, [good, bad as never])).rejects.toMatchObject({ message });
    const thousand = Array.from({ length: 1_001 }, () => good);
    await expect(amends.startMany(order, thousand)).rejects.toThrow(/at most 1000 starts \(there are 1001\)/);
    await expect(amends.startMany(order, "x" as never)).rejects.toThrow(/needs a list of starts/);
    await expect(amends.startMany(order, [], { id: "x" } as never)).rejects.toThrow(/no option named id/);
    expect(await (await onlooker(database)).count()).toBe(0);
  });

  it("[S-39][S-19] in the caller's transaction they exist exactly if it commits", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [order] });
    const starts = ["a", "b"].map((sku) => ({ input: { sku }, id: sku }));
    const rolledBack = db.transaction(async (_session, tx) => {
      await amends.startMany(order, starts, { tx });
      throw new Error("rolled back");
    });
    await expect(rolledBack).rejects.toThrow("rolled back");
    const look = await onlooker(database);
    expect(await look.count()).toBe(0);
    await db.transaction(async (_session, tx) => {
      const runs = await amends.startMany(order, starts, { tx });
      expect(runs.map(({ created }) => created)).toEqual([true, true]);
    });
    expect(await look.count()).toBe(2);
    await expect(amends.startMany(order, starts, { tx: undefined })).rejects.toMatchObject({
      code: "NEEDS_TRANSACTION",
    });
  });

  it("[S-39] inputs that are large together are written in one transaction all the same", async () => {
    const { database: db, commits } = watched(await database.open());
    const amends = await database.amends({ database: db, sagas: [order] });
    const sku = "x".repeat(900_000);
    const runs = await amends.startMany(
      order,
      Array.from({ length: 12 }, () => ({ input: { sku } })),
    );
    expect(commits()).toBe(1);
    expect(runs).toHaveLength(12);
    expect(await (await onlooker(database)).count()).toBe(12);
  });

  it("[S-39] two processes that start the same ids at once, in opposite orders, make each saga once", async () => {
    const processes = await Promise.all([1, 2, 3].map(() => database.amends({ sagas: [order] })));
    const ids = Array.from({ length: 40 }, (_, n) => `o-${n}`);
    const results = await Promise.all(
      processes.map((amends, at) =>
        amends.startMany(
          order,
          (at % 2 ? ids.toReversed() : ids).map((id) => ({ input: { sku: id }, id })),
        ),
      ),
    );
    expect(results.flat().filter(({ created }) => created)).toHaveLength(40);
    expect(await (await onlooker(database)).count()).toBe(40);
  });
});

onDatabase("sqlite", (database) => {
  it("[S-39][C-01] in a synchronous transaction sagas are scheduled and started together as well", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, sagas: [order] });
    await db.transaction(async (_session, tx) => {
      amends.sync.start(order, { sku: "tea" }, { id: "s-1", delay: "1h", attributes: { tier: 1 }, tx });
      const runs = amends.sync.startMany(
        order,
        [
          { input: { sku: "tea" }, id: "s-1" },
          { input: { sku: "rice" }, id: "s-2", priority: 4 },
        ],
        { tx },
      );
      expect(runs.map(({ created }) => created)).toEqual([false, true]);
      const conflict = (): unknown =>
        amends.sync.startMany(order, [{ input: { sku: "new" } }, { input: { sku: "x" }, id: "s-1" }], { tx });
      expect(conflict).toThrow(expect.objectContaining({ code: "SAGA_CONFLICT" }) as AmendsError);
    });
    expect(await (await onlooker(database)).count()).toBe(2);
    expect(await amends.inspect("s-1")).toMatchObject({
      attributes: { tier: 1 },
      isScheduled: true,
      runAt: new Date(clock.virtualNowMs() + 3_600_000),
    });
    expect((await amends.inspect("s-2"))?.priority).toBe(4);
  });
});
