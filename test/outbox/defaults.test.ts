/** What the outbox and its runner do where nothing is said, and how much they take. */
import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, shop, type Shop } from "./support/shop.ts";
import { eraser } from "./support/systems.ts";

async function crowd(world: Shop, size: number): Promise<void> {
  await world.enqueue(...Array.from({ length: size }, (_, index) => erase(`u-${index}`)));
}

onEachDatabase((database) => {
  it("[O-04] a claim takes 50 entries by default", async () => {
    const world = await shop(database);
    await crowd(world, 51);
    expect(await world.outbox.claimBatch()).toHaveLength(50);
  });

  it("[K-20] a subject's id may have 255 characters", async () => {
    const world = await shop(database);
    const [entryId] = await world.enqueue(erase("x".repeat(255)));
    expect(await world.row(entryId as string)).toMatchObject({ subject_id: "x".repeat(255) });
  });

  it("[O-05] a runner takes 50 entries at once by default, and makes 8 attempts", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    await crowd(world, 51);
    expect(await runnerOn(world, [eraser("stripe")]).runOnce()).toBe(50);
    const busy = eraser("crm", () => Promise.reject(new Error("busy")));
    const runner = runnerOn(world, [busy, eraser("stripe")]);
    const [entryId] = await world.enqueue(erase("u-1", "crm"));
    for (let attempt = 1; attempt < 8; attempt++) {
      await runner.runOnce();
      expect(await world.row(entryId as string)).toMatchObject({ status: "failed", attempts: attempt });
      await clock.advance(3_600_000);
    }
    await runner.runOnce();
    expect(await world.row(entryId as string)).toMatchObject({ status: "abandoned", attempts: 8 });
  });

  it("[O-17] lists of abandoned and of scheduled entries have 100 entries by default", async () => {
    const world = await shop(database);
    await crowd(world, 202);
    const claimed = await world.outbox.claimBatch(202);
    for (const [index, entry] of claimed.entries())
      await (index % 2 === 0
        ? world.outbox.markAbandoned(entry, { error: "No" })
        : world.outbox.markScheduled(entry, new Date(Date.now() + 86_400_000)));
    for (const page of [await world.outbox.listAbandoned(), await world.outbox.listScheduled()])
      expect([page.entries.length, page.next === undefined]).toEqual([100, false]);
  });
});
