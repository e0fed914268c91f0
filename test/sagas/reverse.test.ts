import { AmendsError, err, saga, signal, Terminal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { onlooker } from "./support/look.ts";

const Items = z.object({ items: z.array(z.string()) });
const nothing = z.object({});
const paid = signal("paid", nothing);
const code = (error: unknown): unknown => (error instanceof AmendsError ? error.code : error);

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-36] a completed saga is taken back by a saga of its own: its undos in reverse, with their results and keys", async () => {
    const log: string[] = [];
    const order = saga("order", Items)
      .each("reserve", {
        over: ({ input }) => input.items,
        key: (item) => item,
        act: ({ item }) => `r-${item}`,
        compensate: ({ item, result, key, actKey, sagaId }) =>
          void log.push([item, result, key, actKey, sagaId].join(" ")),
      })
      .when(
        "large",
        ({ input }) => input.items.length > 9,
        (branch) => branch.step("never", { act: () => 1, compensate: () => void log.push("never") }),
        (branch) => branch.step("small", { act: () => 2, compensate: () => void log.push("small") }),
      )
      .repeat("poll", {
        act: ({ round }) => round,
        until: ({ round }) => round === 2,
        every: "1ms",
        max: 5,
        compensate: ({ rounds, result, actKey }) => void log.push(`${rounds} ${result} ${actKey(2)}`),
      })
      .parallel("both", (group) =>
        group
          .step("p", { act: () => "p", compensate: ({ results }) => void log.push(`p ${results.small}`) })
          .step("q", { act: () => "q", compensate: () => void log.push("q") }),
      )
      .step("nothing", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    await (await amends.start(order, { items: ["a", "b"] }, { id: "o" })).result();
    const before = await (await onlooker(database)).row("o");
    const reversal = await amends.reverse("o", { reason: "returned", by: "ann" });
    expect(reversal.id).toBe("o:reversal");
    expect(await reversal.result()).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual([
      "q",
      "p 2",
      "2 2 o:poll[2]:act",
      "small",
      "b r-b o:reserve[b]:undo o:reserve[b]:act o",
      "a r-a o:reserve[a]:undo o:reserve[a]:act o",
    ]);
    expect(await (await onlooker(database)).row("o")).toEqual(before);
    const view = await amends.inspect("o:reversal");
    expect(view).toMatchObject({ reverses: "o", status: "COMPLETED", actions: [] });
    expect(view?.timeline[0]).toMatchObject({ name: "reverse", note: "returned", by: "ann" });
    expect(view?.timeline.filter(({ kind, action }) => kind === "step" && action === "act")).toEqual([]);
    expect(await amends.inspect("o")).toMatchObject({ reversedBy: { id: "o:reversal" }, actions: [] });
  });

  it("[S-36] a saga that has nothing to undo is taken back as soon as that is asked for", async () => {
    const order = saga("order", Items)
      .step("nothing", { act: () => 1 })
      .each("reserve", {
        over: ({ input }) => input.items,
        key: (item) => item,
        act: () => 1,
        compensate: () => 1,
      });
    const amends = await database.amends({ sagas: [order] });
    const worker = await database.worker(amends);
    await (await amends.start(order, { items: [] }, { id: "o" })).result();
    await worker.stop();
    const reversal = await amends.reverse("o", { reason: "returned" });
    expect(await reversal.status()).toBe("COMPLETED");
    expect((await amends.reverse("o", { reason: "again" })).id).toBe(reversal.id);
    expect(await amends.inspect("o")).toMatchObject({ reversedBy: { status: "COMPLETED" } });
    expect(await amends.worker().runOnce()).toBe(0);
  });

  it("[S-36] asking twice, also at the same time, is the same reversal, and every undo is called once", async () => {
    let undone = 0;
    const order = saga("order", nothing).step("a", { act: () => 1, compensate: () => ++undone });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    await (await amends.start(order, {}, { id: "o" })).result();
    const asked = await Promise.all([1, 2, 3].map(() => amends.reverse("o", { reason: "returned" })));
    expect(new Set(asked.map(({ id }) => id))).toEqual(new Set(["o:reversal"]));
    await asked[0]?.result();
    expect((await amends.reverse("o", { reason: "again" })).id).toBe("o:reversal");
    expect(undone).toBe(1);
  });

  it("[S-36] a saga that has the id of the reversal is left alone; long ids fit", async () => {
    const order = saga("order", nothing).step("a", { act: () => 1, compensate: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    for (const id of ["o", "o:reversal", "i".repeat(180)])
      await (await amends.start(order, {}, { id })).result();
    const first = await amends.reverse("o", { reason: "returned" });
    const second = await amends.reverse("i".repeat(180), { reason: "returned" });
    expect(first.id).not.toBe("o:reversal");
    expect(await first.result()).toMatchObject({ status: "COMPLETED" });
    expect(await second.result()).toMatchObject({ status: "COMPLETED" });
    expect((await amends.inspect("o:reversal"))?.reverses).toBeUndefined();
  });

  it("[S-36][S-14] an undo that fails stalls the reversal; it can be retried, skipped and resolved as COMPLETED, not cancelled", async () => {
    const fails = new Set(["a", "b"]);
    const undo = (name: string) => () => {
      if (fails.has(name)) throw new Terminal("RefundsDown");
    };
    const order = saga("order", nothing, { compensateRetry: { attempts: 1 } })
      .step("a", { act: () => 1, compensate: undo("a") })
      .step("b", { act: () => 1, compensate: undo("b") });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    await (await amends.start(order, {}, { id: "o" })).result();
    const reversal = await amends.reverse("o", { reason: "returned" });
    expect(await reversal.result()).toMatchObject({ status: "STALLED", step: "a" });
    const { items } = await amends.attention.list();
    expect(items).toMatchObject([{ id: "o:reversal", actions: ["retry", "skip", "resolve"] }]);
    const note = { reason: "by hand" };
    expect(await amends.cancel(reversal.id, note).catch(code)).toBe("CANCEL_REFUSED");
    expect(await amends.reverse(reversal.id, note).catch(code)).toBe("REVERSE_REFUSED");
    expect(await amends.resolve(reversal.id, "FAILED", note).catch(code)).toBe("NOT_ALLOWED_NOW");
    await amends.skip(reversal.id, "a", note);
    await expect.poll(async () => (await amends.inspect(reversal.id))?.skippable).toEqual(["b"]);
    fails.clear();
    await amends.retry(reversal.id, note);
    await expect.poll(async () => (await amends.inspect(reversal.id))?.status).toBe("COMPLETED");
  });

  it("[S-36] a saga that is under way, has failed or has a pivot is refused, and so is one that is gone", async () => {
    const waits = saga("waits", nothing).waitFor("paid", { signal: paid });
    const fails = saga("fails", nothing).step("a", { act: () => err("no") });
    const pivots = saga("pivots", nothing).pivot("a", { act: () => 1 });
    const amends = await database.amends({ sagas: [waits, fails, pivots] });
    await database.worker(amends);
    await amends.start(waits, {}, { id: "waits" });
    for (const one of [fails, pivots]) await (await amends.start(one, {}, { id: one.name })).result();
    for (const id of ["waits", "fails", "pivots"])
      expect(await amends.reverse(id, { reason: "returned" }).catch(code)).toBe("REVERSE_REFUSED");
    expect(await amends.reverse("gone", { reason: "returned" }).catch(code)).toBe("SAGA_NOT_FOUND");
    expect(await (await onlooker(database)).count()).toBe(3);
  });

  it("[S-36] a reversal outlives the saga that it takes back, and a crash in the middle", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const order = saga("order", nothing, { compensateRetry: { attempts: 3, base: "2h", cap: "2h" } })
      .step("a", { act: () => "A", compensate: ({ result }) => void log.push(`a ${result}`) })
      .step("b", {
        act: () => "B",
        compensate: ({ result, attempt }) => {
          log.push(`b ${result} ${attempt}`);
          if (attempt === 1) throw new Error("down");
        },
      });
    const amends = await database.amends({ sagas: [order], clock, retention: { sagas: "1h" } });
    await amends.start(order, {}, { id: "o" });
    await amends.worker().runOnce();
    await amends.reverse("o", { reason: "returned" });
    await amends.worker().runOnce();
    clock.jump(7_200_001);
    const other = await database.amends({ sagas: [order], clock, retention: { sagas: "1h" } });
    while ((await other.worker().runOnce()) > 0);
    expect(await other.inspect("o")).toBeUndefined();
    expect((await other.inspect("o:reversal"))?.status).toBe("COMPLETED");
    expect(log).toEqual(["b B 1", "b B 2", "a A"]);
  });

  it("[S-36][S-30] a worker whose definition lost an undo leaves the reversal alone", async () => {
    const clock = virtualClock();
    const make = (compensate: boolean) =>
      saga("order", nothing).step("a", { act: () => 1, ...(compensate && { compensate: () => 1 }) });
    const before = await database.amends({ sagas: [make(true)], clock });
    await before.start(make(true), {}, { id: "o" });
    await before.worker().runOnce();
    await before.reverse("o", { reason: "returned" });
    const after = await database.amends({ sagas: [make(false)], clock });
    expect(await after.worker().runOnce()).toBe(0);
    expect(await before.worker().runOnce()).toBe(1);
  });
});
