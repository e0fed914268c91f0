import { saga } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";

const nothing = z.object({});
const why = { reason: "customer called", by: "ann" };

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-23] a saga that nobody has begun ends at once, without a call", async () => {
    let calls = 0;
    const order = saga("order", nothing).step("one", { act: () => void (calls += 1) });
    const amends = await database.amends({ sagas: [order] });
    const run = await amends.start(order, {});
    expect(await amends.cancel(run.id, why)).toMatchObject({ status: "FAILED" });
    expect(await amends.worker().runOnce()).toBe(0);
    expect(await run.result()).toEqual({
      status: "FAILED",
      id: run.id,
      step: undefined,
      error: { kind: "cancelled", label: "Cancelled" },
    });
    expect(calls).toBe(0);
  });

  it("[S-23] before the pivot a cancel compensates what was done, and tells the call that runs", async () => {
    const undone: string[] = [];
    const begun = gate();
    const order = saga("order", nothing)
      .step("one", { act: () => "1", compensate: ({ result }) => void undone.push(`one ${result}`) })
      .step("two", {
        act: ({ signal }) => {
          void begun.pass();
          return new Promise<string>((_, reject) =>
            signal.addEventListener("abort", () => reject(new Error("stopped"))),
          );
        },
        compensate: ({ result }) => void undone.push(`two ${String(result)}`),
      })
      .pivot("three", { act: () => 3 });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    await begun.reached;
    await amends.cancel(run.id, why);
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(undone).toEqual(["two undefined", "one 1"]);
    expect((await amends.inspect(run.id))?.timeline).toContainEqual(
      expect.objectContaining({ name: "cancel", note: "customer called", by: "ann" }),
    );
  });

  it("[S-23] an act that finishes in spite of the cancel is undone with its result", async () => {
    const undone: unknown[] = [];
    const held = gate<string>();
    const order = saga("order", nothing)
      .step("one", { act: () => held.pass(), compensate: ({ result }) => void undone.push(result) })
      .step("two", { act: () => Promise.reject(new Error("never reached")) });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    await held.reached;
    await run.cancel();
    held.open("r-1");
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(undone).toEqual(["r-1"]);
  });

  it("[S-23] a cancel that was accepted during the last step holds: the saga does not complete", async () => {
    const undone: unknown[] = [];
    const held = gate<string>();
    const order = saga("order", nothing).step("one", {
      act: () => held.pass(),
      compensate: ({ result }) => void undone.push(result),
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    await held.reached;
    await amends.cancel(run.id, why);
    held.open("r-1");
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(undone).toEqual(["r-1"]);
  });

  it("[S-23] an act that gives up because of the cancel leaves a cancelled saga, whatever its budget", async () => {
    const begun = gate();
    const order = saga("order", nothing, { retry: { attempts: 1 } }).step("one", {
      act: ({ signal }) => {
        void begun.pass();
        return new Promise<string>((_, reject) =>
          signal.addEventListener("abort", () => reject(new Error("stopped"))),
        );
      },
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    await begun.reached;
    await amends.cancel(run.id, why);
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
  });

  it("[S-23] a saga that sleeps between two tries is undone at once", async () => {
    const clock = virtualClock();
    const undone: string[] = [];
    const order = saga("order", nothing)
      .step("one", { act: () => 1, compensate: () => void undone.push("one") })
      .step("two", { act: () => Promise.reject(new Error("busy")), retry: { base: "30s" } });
    const amends = await database.amends({ sagas: [order], clock });
    const run = await amends.start(order, {});
    await amends.worker().runOnce();
    expect(await amends.worker().runOnce()).toBe(0);
    await amends.cancel(run.id, why);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(undone).toEqual(["one"]);
  });

  it("[S-23] once the pivot may be under way a cancel is refused with a clear error, and changes nothing", async () => {
    const look = await onlooker(database);
    const [inPivot, after] = [gate(), gate()];
    const order = saga("order", nothing)
      .step("one", { act: () => 1, compensate: () => Promise.reject(new Error("never")) })
      .pivot("two", { act: () => inPivot.pass() })
      .step("three", { act: () => after.pass() });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    for (const at of [inPivot, after]) {
      await at.reached;
      const before = await look.lines(run.id);
      await expect(amends.cancel(run.id, why)).rejects.toMatchObject({
        code: "CANCEL_REFUSED",
        message: "The saga has reached its pivot and can only go forward: it can no longer be cancelled.",
        details: { status: "RUNNING" },
      });
      expect((await amends.inspect(run.id))?.actions).toEqual([]);
      expect(await look.lines(run.id)).toEqual(before);
      at.open();
    }
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    await expect(run.cancel()).rejects.toMatchObject({ code: "CANCEL_REFUSED", message: /has completed/ });
  });

  it("[S-23] cancelling twice, or a saga that is being undone or is undone, changes nothing more", async () => {
    const held = gate();
    const order = saga("order", nothing)
      .step("one", { act: () => 1, compensate: () => held.pass() })
      .step("two", { act: () => held.pass() });
    const amends = await database.amends({ sagas: [order] });
    const look = await onlooker(database);
    await database.worker(amends);
    const run = await amends.start(order, {});
    await held.reached;
    await amends.cancel(run.id, why);
    const once = await look.lines(run.id);
    await amends.cancel(run.id, why);
    expect(await look.lines(run.id)).toEqual(once);
    held.open();
    await run.result();
    const ended = await look.lines(run.id);
    await amends.cancel(run.id, why);
    expect(await look.lines(run.id)).toEqual(ended);
    expect(ended.filter((line) => line.startsWith("$cancel"))).toHaveLength(1);
  });

  it("[S-23] a cancel from another process reaches the one that runs the saga", async () => {
    const begun = gate();
    const order = saga("order", nothing).step("one", {
      act: ({ signal }) => {
        void begun.pass();
        return new Promise<string>((_, reject) =>
          signal.addEventListener("abort", () => reject(new Error("stopped"))),
        );
      },
      compensate: () => undefined,
    });
    const here = await database.amends({ sagas: [order], lease: "400ms" });
    const there = await database.amends({ sagas: [order] });
    await database.worker(here);
    const run = await here.start(order, {});
    await begun.reached;
    await there.cancel(run.id, why);
    await vi.waitFor(async () => expect(await run.status()).toBe("FAILED"), 5_000);
    expect(here.counters).toMatchObject({ failed: 1, lost: 0 });
  });

  it("[S-23] a cancel asks for a reason, and for a saga that exists", async () => {
    const order = saga("order", nothing).step("one", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    const { id } = await amends.start(order, {});
    await expect(amends.cancel(id, { reason: "" })).rejects.toMatchObject({ code: "BAD_OPTION" });
    await expect(amends.cancel("nobody", why)).rejects.toMatchObject({ code: "SAGA_NOT_FOUND" });
    expect(await (await amends.get(id)).status()).toBe("PENDING");
  });
});
