import type { AuditSink, KeyedAuditEvent } from "amends/audit";
import { ResolverError } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop } from "./support/shop.ts";
import { eraser, keeper, rectifier } from "./support/systems.ts";

const refusing = (name: string) => eraser(name, () => Promise.reject(new ResolverError("no")));

onEachDatabase((database) => {
  it("[O-13] a request is complete when its last entry succeeds, and says so once", async () => {
    const world = await shop(database);
    const runner = runnerOn(world, [eraser("a"), eraser("b"), eraser("c")], { batchSize: 1 });
    await world.enqueue(erase("u-1", "a"), erase("u-1", "b"), erase("u-1", "c"), erase("u-2", "a"));
    const completed = async (): Promise<number> =>
      (await world.trail("u-1")).filter((type) => type === "ERASURE_COMPLETED").length;
    for (let done = 0; done < 3; done++) {
      expect(await completed()).toBe(0);
      await runner.runOnce();
    }
    expect(await completed()).toBe(1);
    await runner.runOnce();
    expect(await world.trail("u-2")).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
    expect(await completed()).toBe(1);
  });

  it("[O-13] entries of one request that end in one batch complete it once", async () => {
    const world = await shop(database);
    const names = Array.from({ length: 20 }, (_, index) => `system-${index}`);
    await world.enqueue(...names.map((name) => erase("u-1", name)));
    await runnerOn(
      world,
      names.map((name) => eraser(name)),
    ).runOnce();
    const trail = await world.trail("u-1");
    expect(trail.filter((type) => type === "ERASURE_COMPLETED")).toHaveLength(1);
    expect(trail).toHaveLength(21);
  });

  it("[O-13] siblings that are pending, failed, scheduled or abandoned block it, of every generation", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const systems = [
      eraser("fine"),
      eraser("busy", () => Promise.reject(new Error("busy"))),
      refusing("broken"),
      keeper("logs", () => ({ expiresAt: new Date(clock.virtualNowMs() + 1_000_000) })),
    ];
    const runner = runnerOn(world, systems);
    for (const other of ["busy", "broken", "logs"]) {
      await world.enqueue(erase(other, other), { ...erase(other, "fine"), generation: 1 });
      await runner.runOnce();
      expect(await world.trail(other)).not.toContain("ERASURE_COMPLETED");
    }
    await world.enqueue(erase("pending", "fine"));
    const [held] = await world.outbox.claimBatch();
    await world.enqueue(erase("pending", "fine", "cus_2"));
    await runner.runOnce();
    expect(await world.trail("pending")).toEqual(["ERASURE_STEP_SUCCEEDED"]);
    await world.outbox.markSucceeded(held as never);
  });

  it("[O-13] an entry that had failed, was parked or was given up before its sibling succeeds blocks it too", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const runner = runnerOn(world, [
      eraser("fine"),
      eraser("busy", () => Promise.reject(new Error("busy"))),
      refusing("broken"),
      keeper("logs", () => ({ expiresAt: new Date(clock.virtualNowMs() + 1_000_000) })),
    ]);
    for (const other of ["busy", "broken", "logs"]) {
      await world.enqueue(erase(other, other));
      await runner.runOnce();
      await world.enqueue(erase(other, "fine"));
      await runner.runOnce();
      expect(await world.trail(other)).toContain("ERASURE_STEP_SUCCEEDED");
      expect(await world.trail(other)).not.toContain("ERASURE_COMPLETED");
    }
  });

  it("[O-13] the other operation is invisible", async () => {
    const world = await shop(database);
    const crm = rectifier("crm", () => Promise.reject(new Error("busy")));
    await world.enqueue(erase("u-1", "crm"));
    await world.enqueue(rectify("u-1", "x", "crm"));
    await runnerOn(world, [crm]).runOnce();
    expect(await world.trail("u-1")).toEqual(["ERASURE_STEP_SUCCEEDED", "ERASURE_COMPLETED"]);
  });

  it("[O-13] a rectification completes as a rectification", async () => {
    const world = await shop(database);
    await world.enqueue(rectify("u-1", "x", "crm"));
    await runnerOn(world, [rectifier("crm")]).runOnce();
    expect(await world.trail("u-1")).toEqual(["RECTIFICATION_STEP_SUCCEEDED", "RECTIFICATION_COMPLETED"]);
  });

  it("[O-13] a requeue of what blocked it lets it complete", async () => {
    const world = await shop(database);
    const [, blocked] = await world.enqueue(erase("u-1", "fine"), erase("u-1", "broken"));
    await runnerOn(world, [eraser("fine"), refusing("broken")]).runOnce();
    await world.outbox.requeue([blocked as string]);
    await runnerOn(world, [eraser("fine"), eraser("broken")]).runOnce();
    expect((await world.trail("u-1")).slice(-3)).toEqual([
      "ERASURE_REQUEUED",
      "ERASURE_STEP_SUCCEEDED",
      "ERASURE_COMPLETED",
    ]);
  });

  it("[O-15] a request without outside systems completes inside the local transaction", async () => {
    const world = await shop(database);
    const request = { subjectId: "u-1", operation: "erase" } as const;
    expect(await world.db.transaction((_session, tx) => world.outbox.completeLocally(tx, request))).toBe(
      true,
    );
    expect(await world.trail("u-1")).toEqual(["ERASURE_COMPLETED"]);
  });

  it("[O-15] a rollback leaves no completion event", async () => {
    const world = await shop(database);
    const work = world.db.transaction(async (_session, tx) => {
      await world.outbox.completeLocally(tx, { subjectId: "u-1", operation: "rectify" });
      throw new Error("no");
    });
    await expect(work).rejects.toThrow("no");
    expect(await world.trail("u-1")).toEqual([]);
  });

  it("[O-15] [O-13] an open entry of an earlier generation blocks it there too", async () => {
    const world = await shop(database);
    await world.enqueue(erase("u-1"));
    const request = { subjectId: "u-1", operation: "erase" } as const;
    expect(await world.db.transaction((_session, tx) => world.outbox.completeLocally(tx, request))).toBe(
      false,
    );
    expect(await world.trail("u-1")).toEqual([]);
  });

  it("[O-15] with a foreign sink the completion is told after the commit, and a rollback tells nothing", async () => {
    const told: KeyedAuditEvent[] = [];
    const audit: AuditSink = { append: async (events) => void told.push(...events) };
    const world = await shop(database, { audit });
    const request = { subjectId: "u-1", operation: "erase" } as const;
    const runner = runnerOn({ ...world, audit: audit as never }, []);
    await world.db
      .transaction(async (_session, tx) => {
        await world.outbox.completeLocally(tx, request);
        throw new Error("no");
      })
      .catch(() => undefined);
    expect(await runner.runOnce()).toBe(0);
    await world.db.transaction((_session, tx) => world.outbox.completeLocally(tx, request));
    expect(told).toEqual([]);
    await runner.runOnce();
    expect(told.map(({ type, subjectId }) => [type, subjectId])).toEqual([["ERASURE_COMPLETED", "u-1"]]);
  });
});
