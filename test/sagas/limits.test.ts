/** Sagas that say how many of a key may run at the same time, and how many may begin within a period. */
import { AmendsError, err, saga, sagaRef } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { journalOn, LEASE_MS } from "../storage/support/sagas.ts";
import { onEachDatabase } from "../support/databases.ts";
import { gate } from "./support/gate.ts";
import { until } from "../support/until.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";

const tenant = z.object({ tenant: z.string() });
const orders = z.object({ tenant: z.string(), sleeps: z.boolean().optional() });
const perTenant = (limit: number) => ({
  concurrency: { key: (input: { tenant: string }) => input.tenant, limit },
});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  const statusOf = async (amends: Awaited<ReturnType<typeof database.amends>>, id: string) =>
    (await amends.inspect(id))?.status;

  it("[S-40] over several workers, no more sagas of a key run at a time than its limit", async () => {
    const active = new Map<string, number>();
    const most = new Map<string, number>();
    const definition = () =>
      saga("import", tenant, perTenant(2))
        .step("one", {
          act: async ({ input: { tenant: key } }) => {
            const now = (active.get(key) ?? 0) + 1;
            active.set(key, now);
            most.set(key, Math.max(most.get(key) ?? 0, now));
            for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
          },
        })
        .step("two", {
          act: ({ input: { tenant: key } }) => void active.set(key, (active.get(key) ?? 0) - 1),
        });
    const first = definition();
    const amends = await database.amends({ sagas: [first] });
    const other = await database.amends({ sagas: [definition()] });
    for (const one of [amends, other]) await database.worker(one, { concurrency: 10, poll: "20ms" });
    const ids: string[] = [];
    for (let n = 0; n < 24; n++) {
      const run = await amends.start(first, { tenant: n % 3 === 0 ? "b" : "a" });
      ids.push(run.id);
    }
    for (const id of ids) await until(async () => (await statusOf(amends, id)) === "COMPLETED");
    expect([...most.keys()].toSorted()).toEqual(["a", "b"]);
    expect(Math.max(...most.values())).toBeLessThanOrEqual(2);
  });

  it("[S-40] a saga that waits for its limit costs no slot, and begins when a place is free, also where it was started", async () => {
    const held = gate();
    const limited = saga("limited", tenant, perTenant(1)).step("only", { act: () => held.pass() });
    const plain = saga("plain", tenant).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [limited, plain] });
    await database.worker(amends, { concurrency: 2, poll: "1h" });
    const first = await amends.start(limited, { tenant: "a" });
    await until(async () => (await statusOf(amends, first.id)) === "RUNNING");
    const second = await amends.start(limited, { tenant: "a" });
    const other = await amends.start(plain, { tenant: "a" });
    await until(async () => (await statusOf(amends, other.id)) === "COMPLETED");
    expect(await statusOf(amends, second.id)).toBe("PENDING");
    held.open();
    await until(async () => (await statusOf(amends, first.id)) === "COMPLETED");
    // Long before the worker claims without an occasion.
    await until(async () => (await statusOf(amends, second.id)) === "COMPLETED");
  });

  it("[S-40] a saga that waits for something gives its place back, and needs one to go on", async () => {
    const clock = virtualClock();
    const sleeper = saga("sleeper", tenant, perTenant(1))
      .step("one", { act: () => 1 })
      .sleep("night", "1h")
      .step("two", { act: () => 2 });
    const amends = await database.amends({ sagas: [sleeper], clock });
    const worker = amends.worker();
    const a = await amends.start(sleeper, { tenant: "a" }, { id: "a" });
    await worker.runOnce();
    const b = await amends.start(sleeper, { tenant: "a" }, { id: "b" });
    await worker.runOnce();
    expect([
      (await amends.inspect(a.id))?.waiting?.step,
      (await amends.inspect(b.id))?.waiting?.step,
    ]).toEqual(["night", "night"]);
    // The one place is taken by a worker elsewhere when the first one wakes up.
    const c = await amends.start(sleeper, { tenant: "a" }, { id: "c" });
    const elsewhere = journalOn(await database.open({ clock }));
    const known = { name: "sleeper", version: 1, plan: sleeper.plan, deadlineMs: undefined };
    clock.jump(3_600_000 - LEASE_MS / 2);
    expect(await elsewhere.claim([known], 10, "elsewhere", LEASE_MS)).toHaveLength(1);
    clock.jump(LEASE_MS / 2);
    expect(await worker.runOnce()).toBe(0);
    clock.jump(LEASE_MS / 2);
    while ((await worker.runOnce()) > 0);
    expect(await statusOf(amends, a.id)).toBe("COMPLETED");
    expect(await statusOf(amends, b.id)).toBe("COMPLETED");
    expect((await amends.inspect(c.id))?.waiting?.step).toBe("night");
  });

  it("[S-40] compensation and a cancelled saga are never held back", async () => {
    const clock = virtualClock();
    let undone = 0;
    const order = saga("order", orders, { ...perTenant(1), compensateRetry: { attempts: 3, base: "1m" } })
      .step("one", {
        act: () => 1,
        compensate: () => {
          if (++undone === 1) throw new Error("not yet");
        },
      })
      .when(
        "pause",
        ({ input }) => input.sleeps === true,
        (branch) => branch.sleep("night", "1h"),
      )
      .step("two", { act: () => err("no") });
    const amends = await database.amends({ sagas: [order], clock });
    const worker = amends.worker();
    const turned = await amends.start(order, { tenant: "a" });
    await worker.runOnce();
    expect(await statusOf(amends, turned.id)).toBe("COMPENSATING");
    const asleep = await amends.start(order, { tenant: "a", sleeps: true });
    while ((await worker.runOnce()) > 0);
    const elsewhere = journalOn(await database.open({ clock }));
    const known = { name: "order", version: 1, plan: order.plan, deadlineMs: undefined };
    await amends.start(order, { tenant: "a" });
    expect(await elsewhere.claim([known], 10, "elsewhere", 10 * LEASE_MS)).toHaveLength(1);
    const waiting = await amends.start(order, { tenant: "a" });
    clock.jump(5 * 60_000);
    expect(await worker.runOnce()).toBe(1);
    expect(await statusOf(amends, turned.id)).toBe("FAILED");
    await amends.cancel(asleep.id, { reason: "test" });
    expect(await worker.runOnce()).toBe(1);
    expect(await statusOf(amends, asleep.id)).toBe("FAILED");
    expect(await statusOf(amends, waiting.id)).toBe("PENDING");
  });

  it("[S-40] a reversal is not held back, and holds up nothing of its key", async () => {
    const undone: string[] = [];
    const limited = saga("limited", tenant, {
      ...perTenant(1),
      rate: { key: () => "all", limit: 2, per: "1h" },
    }).step("only", { act: () => 1, compensate: ({ sagaId }) => void undone.push(sagaId) });
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [limited], clock });
    const worker = amends.worker();
    for (const id of ["o-1", "o-2"]) {
      await amends.start(limited, { tenant: "a" }, { id });
      await worker.runOnce();
      expect(await statusOf(amends, id)).toBe("COMPLETED");
    }
    const reversal = await amends.reverse("o-1", { reason: "returned" });
    await worker.runOnce();
    expect([await statusOf(amends, reversal.id), undone]).toEqual(["COMPLETED", ["o-1"]]);
    await amends.start(limited, { tenant: "a" }, { id: "o-3" });
    clock.jump(3_600_000);
    await worker.runOnce();
    expect(await statusOf(amends, "o-3")).toBe("COMPLETED");
  });

  it("[S-40] every way to start obeys: several at once, a reference, a child", async () => {
    const one = saga("one", tenant, perTenant(1)).step("only", { act: () => 1 });
    const parent = saga("parent", tenant).saga("child", one, { input: ({ input }) => input });
    const amends = await database.amends({ sagas: [one, parent] });
    const reference = sagaRef("one", tenant, perTenant(1));
    const starter = await database.amends({ sagas: [] });
    await amends.startMany(one, [{ input: { tenant: "a" } }, { input: { tenant: "a" } }]);
    await starter.start(reference, { tenant: "a" });
    await amends.start(parent, { tenant: "a" });
    const worker = amends.worker();
    let most = 0;
    for (let taken = await worker.runOnce(); taken > 0; taken = await worker.runOnce())
      most = Math.max(most, taken);
    // The parent, and one of its kind.
    expect(most).toBeLessThanOrEqual(2);
    expect((await amends.list({ saga: "one", status: "COMPLETED" })).items).toHaveLength(4);
    expect((await amends.list({ saga: "parent", status: "COMPLETED" })).items).toHaveLength(1);
  });

  it("[S-40] a key that cannot be one is refused when the saga is started, and nothing is written", async () => {
    const keys: unknown[] = ["", "x".repeat(256), "a\0b", "\ud800", 7, undefined];
    for (const [index, key] of keys.entries()) {
      const bad = saga(`bad-${index}`, tenant, { concurrency: { key: () => key as string, limit: 1 } }).step(
        "only",
        {
          act: () => 1,
        },
      );
      const amends = await database.amends({ sagas: [bad] });
      const refused = await amends
        .start(bad, { tenant: "a" }, { id: `bad-${index}` })
        .catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "BAD_INPUT" });
      expect(await amends.inspect(`bad-${index}`)).toBeUndefined();
      await amends.close();
    }
    const throwing = saga("throwing", tenant, {
      rate: {
        key: () => {
          throw new TypeError("secret");
        },
        limit: 1,
        per: "1s",
      },
    }).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [throwing] });
    const refused = await amends
      .start(throwing, { tenant: "a" })
      .catch((error: unknown) => error as AmendsError);
    expect(refused).toMatchObject({ code: "BAD_INPUT" });
    expect((refused as AmendsError).message).toContain("TypeError");
    expect((refused as AmendsError).message).not.toContain("secret");
  });
});

it("[S-40] limits that cannot be meant are refused where they are defined", () => {
  const key = (): string => "a";
  const bad: object[] = [
    { concurrency: {} },
    { concurrency: null },
    { concurrency: { key } },
    { concurrency: { key, limit: 0 } },
    { concurrency: { key, limit: 1.5 } },
    { concurrency: { key, limit: 1_000_001 } },
    { concurrency: { key: "a", limit: 1 } },
    { concurrency: { key, limit: 1, per: "1s" } },
    { rate: { key, limit: 1 } },
    { rate: { key, limit: 1, per: "0s" } },
    { rate: { key, limit: 1, per: "367d" } },
    { rate: { key, limit: 1, per: "soon" } },
    { rate: { key, limit: 1, per: "1s", burst: 2 } },
  ];
  for (const options of bad) {
    expect(() => saga("one", tenant, options as never)).toThrow(AmendsError);
  }
});
