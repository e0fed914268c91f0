import { err, saga, Terminal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { LEASE_MS, pair } from "./support/pair.ts";
import { watchedClock } from "../support/watched-clock.ts";
import { throughRenewals } from "./support/renewals.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-09] resuming skips the done steps and keeps their results", async () => {
    const calls: string[] = [];
    const held = gate();
    const chain = saga("chain", nothing)
      .step("one", { act: () => (calls.push("one"), { id: "r-1" }) })
      .step("two", { act: () => (calls.push("two"), 2) })
      .step("three", {
        act: ({ results, attempt }) => {
          calls.push(`three ${attempt} ${results.one.id} ${results.two}`);
          return attempt === 1 ? held.pass() : undefined;
        },
      });
    const { first, second, lapse } = await pair(database, { sagas: [chain] });
    const run = await first.start(chain, {});
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    await second.worker().runOnce();
    expect(await (await second.get(run.id)).result()).toMatchObject({
      status: "COMPLETED",
      results: { one: { id: "r-1" }, two: 2 },
    });
    held.open();
    await lost;
    expect(calls).toEqual(["one", "two", "three 1 r-1 2", "three 2 r-1 2"]);
  });

  it("[S-09] steps that were done before a crash are undone with their results after it", async () => {
    const undone: unknown[] = [];
    const held = gate();
    const chain = saga("chain", nothing)
      .step("one", { act: () => ({ id: "r-1" }), compensate: ({ result }) => void undone.push(result) })
      .step("two", {
        act: () => "2",
        compensate: ({ result, results }) => void undone.push([result, results]),
      })
      .step("three", { act: ({ attempt }) => (attempt === 1 ? held.pass() : err("no")) });
    const { first, second, lapse } = await pair(database, { sagas: [chain] });
    const run = await first.start(chain, {});
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    await second.worker().runOnce();
    expect(await (await second.get(run.id)).result()).toMatchObject({ status: "FAILED", step: "three" });
    held.open();
    await lost;
    expect(undone).toEqual([["2", { one: { id: "r-1" }, two: "2" }], { id: "r-1" }]);
  });

  it("[S-11] a step in doubt is undone without a result, but with the key of its act", async () => {
    const undone: unknown[] = [];
    const keys: string[] = [];
    const held = gate<string>();
    const chain = saga("chain", nothing).step("charge", {
      act: ({ key }) => {
        keys.push(key);
        return held.pass();
      },
      compensate: ({ result, actKey, key }) => void undone.push({ result, actKey, key }),
    });
    const { first, second, lapse } = await pair(database, { sagas: [chain] });
    const run = await first.start(chain, {}, { id: "o-1" });
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    await second.cancel(run.id, { reason: "customer called" });
    await second.worker().runOnce();
    expect(await (await second.get(run.id)).result()).toMatchObject({
      status: "FAILED",
      error: { kind: "cancelled" },
    });
    expect(keys).toEqual(["o-1:charge:act"]);
    expect(undone).toEqual([{ result: undefined, actKey: "o-1:charge:act", key: "o-1:charge:undo" }]);
    // Whoever had it comes back too late: what it brings is nobody's outcome any more.
    held.open("charged");
    await lost;
    expect(await (await second.get(run.id)).status()).toBe("FAILED");
    expect(first.counters.lost).toBe(1);
  });

  it("[S-11] an act that threw may have happened all the same, so it is undone", async () => {
    const undone: string[] = [];
    const compensate =
      (name: string) =>
      ({ result }: { result: unknown }): void =>
        void undone.push(`${name} ${String(result)}`);
    const exhausted = saga("exhausted", nothing, { retry: { attempts: 1 } })
      .step("one", { act: () => 1, compensate: compensate("one") })
      .step("two", { act: () => Promise.reject(new Error("reset")), compensate: compensate("two") });
    const permanent = saga("permanent", nothing)
      .step("one", { act: () => 1, compensate: compensate("one") })
      .step("two", { act: () => Promise.reject(new Terminal("gone")), compensate: compensate("two") });
    const amends = await database.amends({ sagas: [exhausted, permanent] });
    await database.worker(amends);
    expect(await (await amends.start(exhausted, {})).result()).toMatchObject({
      status: "FAILED",
      step: "two",
      error: { kind: "exhausted", label: "Error" },
    });
    expect(await (await amends.start(permanent, {})).result()).toMatchObject({
      status: "FAILED",
      step: "two",
      error: { kind: "terminal", label: "gone" },
    });
    expect(undone).toEqual(["two undefined", "one 1", "two undefined", "one 1"]);
  });

  it("[S-11] a step whose act answered with err is not undone, unless it asks to be", async () => {
    const undone: string[] = [];
    const plain = saga("plain", nothing).step("one", {
      act: () => err("declined"),
      compensate: () => void undone.push("plain"),
    });
    const asking = saga("asking", nothing).step("one", {
      act: () => err("declined"),
      undoOnErr: true,
      compensate: ({ result }) => void undone.push(`asking ${String(result)}`),
    });
    const amends = await database.amends({ sagas: [plain, asking] });
    await database.worker(amends);
    const failed = { status: "FAILED", step: "one", error: { kind: "err", value: "declined" } };
    expect(await (await amends.start(plain, {})).result()).toMatchObject(failed);
    expect(undone).toEqual([]);
    expect(await (await amends.start(asking, {})).result()).toMatchObject(failed);
    expect(undone).toEqual(["asking undefined"]);
  });

  it("[S-12] no undo runs while its act runs under a live lease, not even after a cancel from elsewhere", async () => {
    const calls: string[] = [];
    const held = gate();
    const clock = watchedClock();
    const chain = saga("chain", nothing).step("one", {
      act: async () => {
        await held.pass();
        calls.push("act ended");
      },
      compensate: () => void calls.push("undo"),
    });
    const look = await onlooker(database);
    const first = await database.amends({ sagas: [chain], clock });
    const second = await database.amends({ sagas: [chain], clock });
    const run = await first.start(chain, {});
    const running = first.worker().runOnce();
    await held.reached;
    await second.cancel(run.id, { reason: "customer called" });
    await throughRenewals(24, {
      clock,
      look,
      id: run.id,
      each: async () => expect(await second.worker().runOnce()).toBe(0),
    });
    expect(calls).toEqual([]);
    held.open();
    await running;
    expect(calls).toEqual(["act ended", "undo"]);
    expect(await (await second.get(run.id)).status()).toBe("FAILED");
  });

  it("[S-12] an act that ignores its deadline is undone only once its lease is over", async () => {
    const calls: string[] = [];
    const held = gate();
    const stubborn = saga("stubborn", nothing, { deadline: "10s" }).step("one", {
      act: () => {
        calls.push("act");
        return held.pass();
      },
      compensate: () => void calls.push("undo"),
    });
    const clock = virtualClock();
    const first = await database.amends({ sagas: [stubborn], clock });
    const second = await database.amends({ sagas: [stubborn], clock });
    const run = await first.start(stubborn, {});
    const lost = first.worker().runOnce();
    await held.reached;
    clock.jump(10_000);
    await clock.advance(0);
    expect(await second.worker().runOnce()).toBe(0);
    expect(calls).toEqual(["act"]);
    // The call was told to stop and has not: nobody renews for it, so the lease that it has runs out.
    clock.jump(LEASE_MS);
    expect(await second.worker().runOnce()).toBe(1);
    expect(calls).toEqual(["act", "undo"]);
    expect(await (await second.get(run.id)).result()).toMatchObject({
      status: "FAILED",
      error: { kind: "deadline" },
    });
    held.open();
    await lost;
    expect(calls).toEqual(["act", "undo"]);
  });
});
