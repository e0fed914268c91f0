import { err, saga, type Amends, type AnySaga } from "amends";
import type { AttentionItem } from "amends/attention";
import type { VirtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { transactionOn } from "./support/effects-table.ts";
import { forEver, gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";

const nothing = z.object({});
const act = (): number => 1;
const undo = (): void => undefined;

/** Starts a saga under one definition; its worker vanishes in step `three`, and another goes on with a later one. */
async function redeploy(
  database: TestDatabase,
  later: AnySaga,
): Promise<{ id: string; amends: Amends; clock: VirtualClock; before: AnySaga }> {
  const held = gate();
  const before = saga("order", nothing)
    .step("one", { act, compensate: undo })
    .step("two", { act })
    .step("three", {
      act: () => {
        void held.pass();
        return forEver();
      },
      compensate: undo,
    })
    .step("four", { act });
  const { first, second, secondClock, lapse } = await pair(database, { sagas: [before] }, { sagas: [later] });
  const { id } = await first.start(before, {});
  void first.worker().runOnce();
  await held.reached;
  lapse();
  await second.worker().runOnce();
  return { id, amends: second, clock: secondClock, before };
}

/** What attention says of sagas that no worker can run, once no worker has been able to for ten minutes. */
async function unserved(amends: Amends, clock: VirtualClock): Promise<readonly AttentionItem[]> {
  expect((await amends.attention.list()).items).toEqual([]);
  clock.jump(601_000);
  await amends.worker().runOnce();
  return (await amends.attention.list({ kind: "unserved-kind" })).items;
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-30] a running saga keeps the list of steps that it began with", async () => {
    const calls: string[] = [];
    const note = (name: string) => (): void => void calls.push(name);
    const later = saga("order", nothing)
      .step("zero", { act: note("zero"), compensate: note("undo zero") })
      .step("one", { act: note("one"), compensate: note("undo one") })
      .step("two", { act: note("two"), compensate: note("undo two") })
      .step("three", { act: note("three"), compensate: note("undo three") })
      .step("between", { act: note("between") })
      .step("four", { act: () => (note("four")(), err("no")) })
      .step("five", { act: note("five") });
    const { id, amends } = await redeploy(database, later);
    expect(await (await amends.get(id)).result()).toMatchObject({ status: "FAILED", step: "four" });
    // Steps that it did not begin with are not run; an undo that it did not begin with is not called.
    expect(calls).toEqual(["three", "four", "undo three", "undo one"]);
    expect((await amends.inspect(id))?.plan.map(({ name }) => name)).toEqual(["one", "two", "three", "four"]);
  });

  it("[S-30] a worker whose definition does not fit leaves the saga alone; after a time it needs a person, with a clear difference", async () => {
    let calls = 0;
    const count = (): void => void (calls += 1);
    const later = saga("order", nothing)
      .step("three", { act: count, compensate: count })
      .step("one", { act: count })
      .step("four", { act: count });
    const { id, amends, clock } = await redeploy(database, later);
    expect(await unserved(amends, clock)).toMatchObject([
      {
        name: "order",
        version: 1,
        sagas: 1,
        reason:
          "1 saga waits: they began with other steps than the running workers have: step one lost its undo; step two is missing; step three was moved. Run a worker whose definition fits, or give one of the two another version.",
      },
    ]);
    expect(calls).toBe(0);
    // It was not claimed: no recovery is counted, and its status is as its own worker left it.
    expect(await (await onlooker(database)).row(id)).toMatchObject({
      status: "RUNNING",
      recovery_attempts: 0,
    });
  });

  it.each([
    [
      "step two is missing",
      saga("order", nothing)
        .step("one", { act, compensate: undo })
        .step("three", { act, compensate: undo })
        .step("four", { act }),
    ],
    [
      "step four was moved",
      saga("order", nothing)
        .step("four", { act })
        .step("one", { act, compensate: undo })
        .step("two", { act })
        .step("three", { act, compensate: undo }),
    ],
    [
      "step three lost its undo",
      saga("order", nothing)
        .step("one", { act, compensate: undo })
        .step("two", { act })
        .step("three", { act })
        .step("four", { act }),
    ],
    [
      "step two became the pivot",
      saga("order", nothing).step("one", { act, compensate: undo }).pivot("two", { act }),
    ],
  ] as const)("[S-30] the difference is told in words: %s", async (text, later) => {
    const { amends, clock } = await redeploy(database, later);
    expect((await unserved(amends, clock))[0]?.reason).toContain(text);
  });

  it("[S-30] a step that became transactional, or no longer is, does not fit either", async () => {
    const later = saga("order", nothing)
      .step("one", { act, compensate: undo })
      .step("two", { act, transaction: transactionOn(database.name) })
      .step("three", { act, compensate: undo })
      .step("four", { act });
    const { amends, clock } = await redeploy(database, later);
    expect((await unserved(amends, clock))[0]?.reason).toContain("step two became transactional");
  });

  it("[S-30] once a worker has a definition that fits, the saga goes on by itself", async () => {
    const misfit = saga("order", nothing).step("one", { act, compensate: undo });
    const { id, amends, clock } = await redeploy(database, misfit);
    expect(await unserved(amends, clock)).toHaveLength(1);
    const fits = saga("order", nothing)
      .step("one", { act, compensate: undo })
      .step("two", { act })
      .step("three", { act: () => "three", compensate: undo })
      .step("four", { act: () => "four" });
    const repaired = await database.amends({ sagas: [fits], clock });
    await repaired.worker().runOnce();
    expect(await (await repaired.get(id)).result()).toMatchObject({
      status: "COMPLETED",
      results: { three: "three", four: "four" },
    });
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it("[S-30] several versions of one definition run side by side, each saga under its own", async () => {
    const one = saga("order", nothing).step("old", { act: () => "v1" });
    const two = saga("order", nothing, { version: 2 }).step("new", { act: () => "v2" });
    const first = await database.amends({ sagas: [one] });
    const before = await first.start(one, {});
    await first.close();
    const both = await database.amends({ sagas: [one, two] });
    const after = await both.start(two, {});
    expect(await both.worker().runOnce()).toBe(2);
    expect(await (await both.get(before.id)).result()).toMatchObject({ results: { old: "v1" } });
    expect(await after.result()).toMatchObject({ results: { new: "v2" } });
    expect([(await both.inspect(before.id))?.version, (await both.inspect(after.id))?.version]).toEqual([
      1, 2,
    ]);
  });

  it("[S-30] a version that is not registered here is left alone, and the worker says so", async () => {
    const one = saga("order", nothing).step("old", { act });
    const two = saga("order", nothing, { version: 2 }).step("new", { act });
    const first = await database.amends({ sagas: [one] });
    const { id } = await first.start(one, {});
    const warnings: unknown[] = [];
    const second = await database.amends({
      sagas: [two],
      logger: { info: undo, warn: (fields) => void warnings.push(fields), error: undo },
    });
    expect(await second.worker().runOnce()).toBe(0);
    expect(warnings).toEqual([{ saga: "order", version: 1, sagas: 1 }]);
    expect((await (await onlooker(database)).row(id))["status"]).toBe("PENDING");
  });

  it("[S-30] in a rolling deploy with an added step, old workers leave new sagas alone, and new workers run both", async () => {
    const ran: string[] = [];
    const by = (who: string) => (): void => void ran.push(who);
    const old = saga("order", nothing)
      .step("pay", { act: by("old"), compensate: undo })
      .step("ship", { act });
    const later = saga("order", nothing)
      .step("pay", { act: by("new"), compensate: undo })
      .step("insure", { act })
      .step("ship", { act });
    const oldService = await database.amends({ sagas: [old] });
    const newService = await database.amends({ sagas: [later] });
    for (let n = 0; n < 20; n++) await newService.start(later, {}, { id: `new-${n}` });
    for (let n = 0; n < 20; n++) await oldService.start(old, {}, { id: `old-${n}` });
    expect(await oldService.worker({ concurrency: 10 }).runOnce()).toBe(10);
    expect(ran).toEqual(Array.from({ length: 10 }, () => "old"));
    const worker = newService.worker();
    while ((await worker.runOnce()) > 0);
    expect(await oldService.worker().runOnce()).toBe(0);
    const look = await onlooker(database);
    for (let n = 0; n < 20; n++)
      for (const id of [`new-${n}`, `old-${n}`])
        expect(await look.row(id)).toMatchObject({ status: "COMPLETED", recovery_attempts: 0 });
    expect((await newService.inspect("new-0"))?.results).toHaveProperty("insure");
    expect((await newService.inspect("old-19"))?.plan.map(({ name }) => name)).toEqual(["pay", "ship"]);
    expect(ran.filter((who) => who === "new")).toHaveLength(30);
  });
});
