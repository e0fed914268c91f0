import { err, saga, Terminal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";
import { watched } from "./support/watched.ts";

const Items = z.object({ items: z.array(z.string()) });
const list = (count: number): { items: string[] } => ({
  items: Array.from({ length: count }, (_, n) => `i${n}`),
});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-33] each item is acted on once, and later steps see item, key and result in the list's order", async () => {
    const seen: string[] = [];
    const order = saga("order", Items)
      .step("quote", { act: () => 7 })
      .each("reserve", {
        over: ({ input, results }) => input.items.map((sku) => ({ sku, cents: results.quote })),
        key: (item) => item.sku,
        act: ({ item, itemKey, input, results, attempt, key }) => {
          seen.push(`${itemKey} ${item.cents} ${input.items.length} ${results.quote} ${attempt} ${key}`);
          return `r-${item.sku}`;
        },
      })
      .step("ship", { act: ({ results }) => results.reserve.map(({ result }) => result).join() });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, list(3), { id: "o-1" });
    const item = (sku: string): object => ({ key: sku, item: { sku, cents: 7 }, result: `r-${sku}` });
    expect(await run.result()).toMatchObject({
      status: "COMPLETED",
      results: { quote: 7, reserve: [item("i0"), item("i1"), item("i2")], ship: "r-i0,r-i1,r-i2" },
    });
    expect(seen.toSorted()).toEqual(
      ["i0", "i1", "i2"].map((sku) => `${sku} 7 3 7 1 o-1:reserve[${sku}]:act`),
    );
  });

  it("[S-33] a list that fills several lines is recorded before its first item begins, and read by whoever takes over", async () => {
    const held = gate();
    const seen: string[] = [];
    const long = (sku: string): string => sku + "x".repeat(150_000);
    const order = saga("order", Items)
      .each("reserve", {
        over: ({ input }) => input.items.map(long),
        key: (item) => item.slice(0, 2),
        concurrency: 3,
        act: async ({ itemKey, attempt }) => {
          seen.push(`${itemKey}#${attempt}`);
          if (seen.length === 3) await held.pass();
          return itemKey;
        },
        compensate: ({ itemKey }) => void seen.push(`undo ${itemKey}`),
      })
      .step("ship", { act: () => err("no") });
    const { first, second, lapse } = await pair(database, { sagas: [order] });
    await database.worker(first);
    await first.start(order, list(4), { id: "o" });
    await held.reached;
    const look = await onlooker(database);
    await until(async () => (await look.lines("o")).includes("reserve[3] act COMPLETED"));
    const lines = await look.lines("o");
    expect(lines.filter((line) => line === "reserve act STARTED").length).toBeGreaterThan(2);
    lapse();
    await second.worker().runOnce();
    expect((await second.inspect("o"))?.status).toBe("FAILED");
    expect(seen.filter((call) => call.startsWith("i")).toSorted()).toEqual([
      "i0#1",
      "i1#1",
      "i2#1",
      "i2#2",
      "i3#1",
    ]);
    expect(seen.slice(-4)).toEqual(["undo i3", "undo i2", "undo i1", "undo i0"]);
    held.open();
  });

  it("[S-33] an empty list is done, also as the first step, and the saga goes on", async () => {
    const empty = saga("empty", Items)
      .each("first", { over: ({ input }) => input.items, key: (item) => item, act: () => 1 })
      .step("last", { act: ({ results }) => results.first.length });
    const amends = await database.amends({ sagas: [empty] });
    await database.worker(amends);
    const outcome = await (await amends.start(empty, { items: [] })).result();
    expect(outcome).toMatchObject({ status: "COMPLETED", results: { first: [], last: 0 } });
  });

  it("[S-33] no more items act at once than `concurrency` says, and as many as it says do", async () => {
    const held = gate();
    let [now, most, count] = [0, 0, 0];
    const many = saga("many", Items).each("all", {
      over: ({ input }) => input.items,
      key: (item) => item,
      concurrency: 4,
      act: async () => {
        most = Math.max(most, ++now);
        count++;
        if (count <= 4) await held.pass();
        await new Promise((resolve) => setImmediate(resolve));
        now--;
      },
    });
    const amends = await database.amends({ sagas: [many] });
    await database.worker(amends);
    const run = await amends.start(many, list(50));
    await until(() => count === 4);
    held.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect([most, count]).toEqual([4, 50]);
  });

  it("[S-33][S-05] items that end together share a commit: N items cost no line more than N and the list", async () => {
    const { database: db, commits } = watched(await database.open());
    const many = saga("many", Items).each("all", {
      over: ({ input }) => input.items,
      key: (item) => item,
      concurrency: 10,
      act: () => undefined,
    });
    const amends = await database.amends({ sagas: [many], database: db });
    await database.worker(amends);
    commits();
    const run = await amends.start(many, list(100));
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(commits()).toBeLessThanOrEqual(15);
    const lines = await (await onlooker(database)).lines(run.id);
    // The list, nine beginnings beside it, and one line for each item: what begins next begins in it.
    expect(lines.filter((line) => line.endsWith("STARTED"))).toHaveLength(10);
    expect(lines.filter((line) => line.endsWith("COMPLETED"))).toHaveLength(100);
  });

  it("[S-33] a failure lets items settle that run, begins none, and undoes finished and doubtful items in reverse", async () => {
    const [slow, bad] = [gate<string>(), gate()];
    const log: string[] = [];
    const order = saga("order", Items, { retry: { attempts: 1 } })
      .step("before", { act: () => 1, compensate: () => void log.push("before") })
      .each("reserve", {
        over: ({ input }) => input.items,
        key: (item) => item,
        concurrency: 3,
        act: async ({ item }) => {
          log.push(`act ${item}`);
          if (item === "i1") return bad.pass().then(() => err("sold-out"));
          if (item === "i2") throw await slow.pass().then(() => new Terminal("Lost"));
          return `r-${item}`;
        },
        compensate: ({ item, result, actKey, key }) =>
          void log.push(`undo ${item} ${result ?? "?"} ${actKey} ${key}`),
      });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, list(6), { id: "o-1" });
    await Promise.all([slow.reached, bad.reached]);
    // Items 0 and 3 to 5 have gone their way beside the two that are held.
    await until(() => log.length === 6);
    bad.open();
    await vi.waitFor(async () => expect((await amends.inspect("o-1"))?.error).toBeDefined());
    slow.open("now");
    const outcome = await run.result();
    expect(outcome).toMatchObject({
      status: "FAILED",
      step: "reserve[1]",
      error: { kind: "err", value: "sold-out" },
    });
    const undo = (sku: string, result: string): string =>
      `undo ${sku} ${result} o-1:reserve[${sku}]:act o-1:reserve[${sku}]:undo`;
    expect(log.slice(6)).toEqual([
      undo("i5", "r-i5"),
      undo("i4", "r-i4"),
      undo("i3", "r-i3"),
      undo("i2", "?"),
      undo("i0", "r-i0"),
      "before",
    ]);
  });

  it("[S-33] after a crash the list is not computed again, done items are skipped, and begun ones are called again", async () => {
    const held = gate();
    const log: string[] = [];
    const make = (who: string) =>
      saga("order", Items).each("reserve", {
        over: ({ input }) => (log.push(`${who} lists`), input.items),
        key: (item) => item,
        concurrency: 2,
        act: ({ item, attempt }) => {
          log.push(`${who} ${item} ${attempt}`);
          return who === "first" && item !== "i0" ? held.pass() : undefined;
        },
      });
    const { first, second, lapse } = await pair(
      database,
      { sagas: [make("first")] },
      { sagas: [make("second")] },
    );
    await database.worker(first);
    await first.start(make("first"), list(4), { id: "o-1" });
    await until(() => log.length === 4);
    lapse();
    await second.worker().runOnce();
    expect((await second.inspect("o-1"))?.status).toBe("COMPLETED");
    expect(log.slice(0, 2)).toEqual(["first lists", "first i0 1"]);
    expect(log.slice(4)).toEqual(["second i1 2", "second i2 2", "second i3 1"]);
    held.open();
  });

  it("[S-33] each item is tried again by itself, while others go on", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const order = saga("order", Items, { retry: { attempts: 3, base: "1h", cap: "1h" } }).each("reserve", {
      over: ({ input }) => input.items,
      key: (item) => item,
      concurrency: 1,
      act: ({ item, attempt }) => {
        log.push(`${item} ${attempt}`);
        if (item === "i1" && attempt < 3) throw new Error("down");
      },
    });
    const amends = await database.amends({ sagas: [order], clock });
    const run = await amends.start(order, list(3));
    await amends.worker().runOnce();
    expect(log).toEqual(["i0 1", "i1 1", "i2 1"]);
    for (const attempt of [2, 3]) {
      clock.jump(3_600_001);
      await amends.worker().runOnce();
      expect(log.at(-1)).toBe(`i1 ${attempt}`);
    }
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-33] items whose undo fails stall the saga with their names, and can be skipped one by one", async () => {
    const order = saga("order", Items, { compensateRetry: { attempts: 1 } })
      .each("reserve", {
        over: ({ input }) => input.items,
        key: (item) => item,
        act: () => 1,
        compensate: ({ item }) => {
          if (item !== "i1") throw new Terminal("RefundsDown");
        },
      })
      .step("charge", { act: () => err("declined") });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, list(3), { id: "o-1" });
    expect(await run.result()).toMatchObject({ status: "STALLED" });
    const view = await amends.inspect("o-1");
    expect(view?.skippable).toEqual(["reserve[0]", "reserve[2]"]);
    expect(view?.undoErrors.map(({ step }) => step)).toEqual(["reserve[0]", "reserve[2]"]);
    await amends.skip("o-1", "reserve[0]", { reason: "done by hand" });
    await amends.get(order, "o-1").then((again) => again?.result());
    await amends.skip("o-1", "reserve[2]", { reason: "done by hand" });
    await expect.poll(async () => (await amends.inspect("o-1"))?.status).toBe("FAILED");
  });

  const lists: readonly (readonly [string, unknown, string])[] = [
    ["a list that is too long", Array.from({ length: 10_001 }, (_, n) => `i${n}`), "ListTooLong"],
    ["no list", "text", "ListNotArray"],
    ["a key that two items have", ["a", "a"], "DuplicateItemKey"],
    ["an empty key", ["a", ""], "BadItemKey"],
    ["a key that is too long", [`!${"a".repeat(255)}`], "BadItemKey"],
    ["an item that is no JSON", [1n], "ItemNotJson"],
    ["an item that is nothing", [undefined], "ItemNotJson"],
    ["an item of more than 1 MiB", ["a".repeat(1_048_577)], "ItemNotJson"],
    [
      "more than 16 MiB in all",
      Array.from({ length: 17 }, (_, n) => `${n}${"a".repeat(1_040_000)}`),
      "ListTooLarge",
    ],
  ];
  for (const [what, given, label] of lists) {
    it(`[S-33][K-20] ${what} fails the step, and nothing is acted on`, async () => {
      let acts = 0;
      const order = saga("order", z.object({})).each("reserve", {
        over: () => given as readonly string[],
        key: (item: unknown) => (String(item).startsWith("!") ? String(item) : String(item).slice(0, 20)),
        act: () => ++acts,
        compensate: () => ++acts,
      });
      const amends = await database.amends({ sagas: [order] });
      await database.worker(amends);
      const outcome = await (await amends.start(order, {})).result();
      expect(outcome).toMatchObject({ status: "FAILED", step: "reserve", error: { kind: "unfit", label } });
      expect(acts).toBe(0);
    });
  }

  it("[S-33][K-20] results of more than 16 MiB in all fail the step, and its items are undone", async () => {
    const undone = new Set<string>();
    const order = saga("order", Items).each("reserve", {
      over: ({ input }) => input.items,
      key: (item) => item,
      concurrency: 1,
      act: () => "a".repeat(1_040_000),
      compensate: ({ item }) => void undone.add(item),
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const outcome = await (await amends.start(order, list(20))).result();
    expect(outcome).toMatchObject({ status: "FAILED", error: { kind: "unfit", label: "ResultsTooLarge" } });
    expect(undone.size).toBe(17);
  });

  it("[S-33][S-29] keys that are too long for an idempotency key are hashed, and stay distinct", async () => {
    const keys: string[] = [];
    const order = saga("order", Items).each("reserve", {
      over: ({ input }) => input.items,
      key: (item) => item,
      act: ({ key }) => void keys.push(key),
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const items = [`${"x".repeat(254)}1`, `${"x".repeat(254)}2`];
    await (await amends.start(order, { items }, { id: "i".repeat(180) })).result();
    expect(new Set(keys).size).toBe(2);
    for (const key of keys) expect(key.length).toBeLessThanOrEqual(255);
  });

  it("[S-33][S-22] behind the pivot an item that fails permanently stalls the saga; skipped, the saga goes on", async () => {
    const order = saga("order", Items)
      .pivot("pay", { act: () => 1 })
      .each("ship", {
        over: ({ input }) => input.items,
        key: (item) => item,
        act: ({ item }) => (item === "i1" ? err("gone") : item),
      })
      .step("mail", { act: ({ results }) => results.ship.map(({ result }) => result ?? "-").join() });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, list(3), { id: "o-1" });
    expect(await run.result()).toMatchObject({ status: "STALLED", step: "ship[1]" });
    expect((await amends.inspect("o-1"))?.skippable).toEqual(["ship[1]"]);
    await amends.skip("o-1", "ship[1]", { reason: "sent by hand" });
    await expect.poll(async () => (await amends.inspect("o-1"))?.results["mail"]).toBe("i0,-,i2");
  });
});
