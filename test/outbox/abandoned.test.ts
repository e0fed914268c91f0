import { ResolverError, type AbandonedSignal } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { forEver } from "../sagas/support/gate.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop } from "./support/shop.ts";
import { eraser, rectifier } from "./support/systems.ts";

const broken = (name: string) => eraser(name, () => Promise.reject(new ResolverError("no_access", "secret")));

onEachDatabase((database) => {
  it("[O-18] the hook is called after the abandonment and its event are durable", async () => {
    const world = await shop(database);
    const seen: unknown[] = [];
    const onAbandoned = async (signal: AbandonedSignal): Promise<void> => {
      seen.push(signal, (await world.row(signal.entryId))["status"], await world.trail());
    };
    const [entryId] = await world.enqueue(erase("u-1"));
    await runnerOn(world, [broken("stripe")], { onAbandoned }).runOnce();
    expect(seen).toEqual([
      { entryId, subjectId: "u-1", resolver: "stripe", operation: "erase", attempts: 1, error: "no_access" },
      "abandoned",
      ["ERASURE_STEP_FAILED"],
    ]);
  });

  it("[O-18] it is called once per abandonment, and for nothing else", async () => {
    const world = await shop(database);
    const seen: string[] = [];
    const systems = [broken("stripe"), eraser("fine"), eraser("busy", () => Promise.reject(new Error("x")))];
    await world.enqueue(erase("u-1"), erase("u-2", "fine"), erase("u-3", "busy"), erase("u-4", "unknown"));
    const runner = runnerOn(world, systems, { onAbandoned: ({ subjectId }) => seen.push(subjectId) });
    await runner.runOnce();
    await runner.runOnce();
    expect(seen.toSorted()).toEqual(["u-1", "u-4"]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("pager is down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("pager is down"))],
  ])("[O-18] a hook that %s disturbs neither the entry nor the others", async (_name, onAbandoned) => {
    const world = await shop(database);
    await world.enqueue(erase("u-1"), erase("u-2"));
    expect(await runnerOn(world, [broken("stripe")], { onAbandoned }).runOnce()).toBe(2);
    expect(await world.outbox.statusCounts()).toMatchObject({ abandoned: 2 });
  });

  it("[O-18] a hook that never returns does not hold the runner up beyond a short time", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    await world.enqueue(erase("u-1"));
    const running = runnerOn(world, [broken("stripe")], { onAbandoned: forEver }).runOnce();
    await expect.poll(async () => (await world.outbox.statusCounts()).abandoned).toBe(1);
    await clock.advance(1_000);
    expect(await running).toBe(1);
  });

  it("[O-18] [O-19] a signal carries no correction and no ref", async () => {
    const world = await shop(database);
    const seen: unknown[] = [];
    await world.enqueue(rectify("u-1", "canary@example.org", "crm", "cus_canary"));
    const crm = rectifier("crm", () => Promise.reject(new ResolverError("no", "canary")));
    await runnerOn(world, [crm], { onAbandoned: (signal) => seen.push(signal) }).runOnce();
    expect(JSON.stringify(seen)).not.toContain("canary");
    expect(seen).toMatchObject([{ operation: "rectify" }]);
  });
});
