/** A step behind the pivot that keeps failing: it is tried again for ever, and a person learns of it and may decide. */
import { saga, type Amends } from "amends";
import { virtualClock, type VirtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";

const nothing = z.object({});

interface Scene {
  readonly amends: Amends;
  readonly clock: VirtualClock;
  readonly calls: () => number;
  /** Tries once more. */
  again(): Promise<void>;
}

async function scene(database: TestDatabase, act: (attempt: number) => unknown): Promise<Scene> {
  let calls = 0;
  const order = saga("order", nothing)
    .pivot("pay", { act: () => "paid" })
    .step("ship", {
      act: ({ attempt }) => {
        calls++;
        return act(attempt);
      },
      retry: { attempts: 3, base: "1m", cap: "1m" },
    })
    .step("thank", { act: ({ results }) => results.ship });
  const clock = virtualClock();
  const amends = await database.amends({ sagas: [order], clock });
  await amends.start(order, {}, { id: "o-1" });
  const again = async (): Promise<void> => {
    await amends.worker().runOnce();
    clock.jump(60_001);
  };
  return { amends, clock, calls: () => calls, again };
}

function fail(): never {
  throw new TypeError("no carrier");
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-38] a step behind the pivot that has used up its attempts needs a person, and is tried again until it succeeds", async () => {
    const { amends, again, calls } = await scene(database, (attempt) => (attempt < 6 ? fail() : "shipped"));
    for (let n = 0; n < 2; n++) await again();
    expect((await amends.attention.list()).items).toEqual([]);
    await again();
    const [item] = (await amends.attention.list()).items;
    expect(item).toMatchObject({
      kind: "failing-saga",
      id: "o-1",
      name: "order",
      reason:
        "step ship has failed 3 times (TypeError) where the saga can only go forward; it is tried again",
      actions: ["skip", "resolve"],
      skippable: ["ship"],
      step: "ship",
      attempts: 3,
    });
    await again();
    const [later] = (await amends.attention.list()).items;
    expect(later).toMatchObject({ attempts: 4, since: item?.since });
    expect(await amends.inspect("o-1")).toMatchObject({
      status: "RUNNING",
      actions: ["skip", "resolve"],
      skippable: ["ship"],
    });
    for (let n = 0; n < 2; n++) await again();
    expect(calls()).toBe(6);
    expect(await amends.inspect("o-1")).toMatchObject({ status: "COMPLETED" });
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it("[S-38][P-02] an operator skips it with a result, and the saga goes on", async () => {
    const { amends, again, calls } = await scene(database, fail);
    for (let n = 0; n < 3; n++) await again();
    await amends.skip("o-1", "ship", { reason: "shipped by hand", result: "by hand" });
    await again();
    expect(calls()).toBe(3);
    expect(await amends.inspect("o-1")).toMatchObject({ status: "COMPLETED", results: { thank: "by hand" } });
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it.each(["COMPLETED", "FAILED"] as const)("[S-38][P-02] an operator resolves it as %s", async (as) => {
    const { amends, again, calls } = await scene(database, fail);
    for (let n = 0; n < 3; n++) await again();
    await amends.resolve("o-1", as, { reason: "settled with the customer" });
    await again();
    expect(calls()).toBe(3);
    expect(await amends.inspect("o-1")).toMatchObject({ status: as });
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it("[S-38] before its attempts are used up, and while it is called, nobody may skip or resolve it", async () => {
    const held = gate();
    const { amends, again } = await scene(database, async (attempt) => (attempt < 4 ? fail() : held.pass()));
    await again();
    const note = { reason: "too early" };
    await expect(amends.skip("o-1", "ship", note)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    for (let n = 0; n < 2; n++) await again();
    const working = amends.worker().runOnce();
    await held.reached;
    for (const refused of [
      () => amends.skip("o-1", "ship", note),
      () => amends.resolve("o-1", "FAILED", note),
    ])
      await expect(refused()).rejects.toMatchObject({
        code: "NOT_ALLOWED_NOW",
        message: expect.stringContaining("Step ship is being called now") as unknown,
      });
    held.open();
    await working;
    expect(await amends.inspect("o-1")).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-38] a list and the start of a child that kept failing need nobody once they have succeeded", async () => {
    const held = gate<string>();
    let [lists, starts] = [0, 0];
    const child = saga("child", nothing).step("one", { act: () => 1 });
    const order = saga("order", nothing, { retry: { attempts: 2, base: "1m", cap: "1m" } })
      .pivot("pay", { act: () => "paid" })
      .each("mail", {
        over: () => (++lists < 3 ? fail() : ["ann"]),
        key: (item) => item,
        act: () => held.pass(),
      })
      .saga("ship", child, { input: () => (++starts < 3 ? fail() : {}) });
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    await amends.start(order, {}, { id: "o-1" });
    const again = async (): Promise<void> => {
      await amends.worker().runOnce();
      clock.jump(60_001);
    };
    const needed = async (): Promise<unknown> => [
      (await amends.attention.list()).items.map(({ kind }) => kind),
      (await amends.inspect("o-1"))?.actions,
    ];
    for (let n = 0; n < 2; n++) await again();
    expect(await needed()).toEqual([["failing-saga"], ["skip", "resolve"]]);
    const listed = amends.worker().runOnce();
    await held.reached;
    expect(await needed()).toEqual([[], []]);
    held.open("sent");
    await listed;
    clock.jump(60_001);
    await again();
    expect(await needed()).toEqual([["failing-saga"], ["skip", "resolve"]]);
    await again();
    expect((await amends.inspect("o-1"))?.waiting?.step).toBe("ship");
    expect(await needed()).toEqual([[], []]);
  });

  it("[S-38][S-24] a saga is not resolved while another step of the group, or another item, is being called", async () => {
    const held = gate<string>();
    const order = saga("order", nothing)
      .pivot("pay", { act: () => "paid" })
      .parallel("after", (group) =>
        group
          .step("ship", { act: fail, retry: { attempts: 1, base: "1h" } })
          .step("mail", { act: () => held.pass() }),
      );
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    await amends.start(order, {}, { id: "o-1" });
    const working = amends.worker().runOnce();
    await held.reached;
    await expect.poll(async () => (await amends.inspect("o-1"))?.actions).toEqual(["skip"]);
    const refused = amends.resolve("o-1", "COMPLETED", { reason: "sent by hand" });
    await expect(refused).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    held.open("sent");
    await working;
    expect((await amends.inspect("o-1"))?.actions).toEqual(["skip", "resolve"]);
    await amends.resolve("o-1", "COMPLETED", { reason: "sent by hand" });
    expect((await amends.inspect("o-1"))?.status).toBe("COMPLETED");
  });
});
