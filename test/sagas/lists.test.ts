/** Sagas are listed and counted in code, by name, state, attributes, error and time. */
import { Amends, err, saga, sagaRef, type SagaStatus } from "amends";
import type { SagaListOptions } from "amends/sagas";
import { MemorySagaStorage } from "amends/storage";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";

const schema = z.object({ end: z.string() });

/** Ends as its input says. */
const order = saga("order", schema, { attributes: ["tenant", "tier"], compensateRetry: { attempts: 1 } })
  .step("reserve", {
    act: () => "r-1",
    compensate: ({ input }) => {
      if (input.end === "STALLED") throw new RangeError("no");
    },
  })
  .step("charge", { act: ({ input }) => (input.end === "COMPLETED" ? "c-1" : err("card-declined")) })
  .sleep("cool-off", "10h");
const refund = saga("refund", schema, { retry: { attempts: 1 } })
  .step("first", { act: () => 1 })
  .step("pay", {
    act: ({ input }) => {
      if (input.end !== "COMPLETED") throw new TypeError("no");
    },
  });

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  async function scene() {
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order, refund], clock });
    const run = async (): Promise<void> => {
      while ((await amends.worker().runOnce()) > 0);
    };
    /** One after another, a second apart. */
    const add = async (of: typeof order | typeof refund, id: string, end: string, options: object = {}) => {
      clock.jump(1_000);
      await amends.start(of as typeof refund, { end }, { id, ...options });
      await run();
    };
    await add(order, "o-stalled", "STALLED", { attributes: { tenant: "acme", tier: 1 } });
    await add(order, "o-failed", "FAILED", { attributes: { tenant: "acme", tier: "1" } });
    await add(order, "o-sleeps", "COMPLETED", { attributes: { tenant: "globex", tier: 1 } });
    await add(refund, "r-failed", "FAILED", { attributes: { tenant: "acme" } });
    await add(refund, "r-done", "COMPLETED", { attributes: { tenant: "acme", vip: true } });
    await add(refund, "r-later", "COMPLETED", { delay: "1h", priority: 4 });
    const ids = async (options: SagaListOptions): Promise<readonly string[]> =>
      (await amends.list(options)).items.map(({ id }) => id);
    return { clock, amends, ids, run };
  }

  it("[S-42] sagas are listed by name, state, attributes, error and time, those that changed last first", async () => {
    const { amends, ids, clock } = await scene();
    const all = ["r-later", "r-done", "r-failed", "o-sleeps", "o-failed", "o-stalled"];
    expect(await ids({})).toEqual(all);
    expect(await ids({ saga: "refund" })).toEqual(["r-later", "r-done", "r-failed"]);
    expect(await ids({ saga: sagaRef("order", schema) })).toEqual(["o-sleeps", "o-failed", "o-stalled"]);
    expect(await ids({ status: "FAILED" })).toEqual(["r-failed", "o-failed"]);
    expect(await ids({ status: ["RUNNING", "PENDING", "STALLED"] })).toEqual([
      "r-later",
      "o-sleeps",
      "o-stalled",
    ]);
    expect(await ids({ saga: order, status: "RUNNING" })).toEqual(["o-sleeps"]);
    expect(await ids({ attributes: { tenant: "acme" } })).toEqual([
      "r-done",
      "r-failed",
      "o-failed",
      "o-stalled",
    ]);
    expect(await ids({ attributes: { tenant: "acme" }, status: "FAILED", saga: "refund" })).toEqual([
      "r-failed",
    ]);
    expect(await ids({ attributes: { tenant: "nobody" } })).toEqual([]);
    // 1 is not "1".
    expect(await ids({ attributes: { tier: 1 } })).toEqual(["o-sleeps", "o-stalled"]);
    expect(await ids({ attributes: { tier: "1" } })).toEqual(["o-failed"]);
    expect(await ids({ attributes: { tenant: "acme", tier: 1 } })).toEqual(["o-stalled"]);
    expect(await ids({ attributes: { tenant: "acme", vip: true } })).toEqual(["r-done"]);
    expect(await ids({ error: "TypeError" })).toEqual(["r-failed"]);
    // Of a stalled saga it is what is in its way, not what it turned back for.
    expect(await ids({ error: "RangeError" })).toEqual(["o-stalled"]);
    expect(await ids({ error: "card-declined" })).toEqual(["o-failed"]);
    expect(await ids({ error: "RangeError", attributes: { tenant: "acme" }, status: "STALLED" })).toEqual([
      "o-stalled",
    ]);
    expect(await ids({ error: "RangeError", attributes: { tenant: "globex" } })).toEqual([]);
    const at = (secondsAgo: number): Date => new Date(clock.virtualNowMs() - secondsAgo * 1_000);
    expect(await ids({ since: at(2) })).toEqual(all.slice(0, 3));
    expect(await ids({ until: at(2) })).toEqual(all.slice(3));
    expect(await ids({ since: at(4), until: at(1), attributes: { tenant: "acme" } })).toEqual([
      "r-failed",
      "o-failed",
    ]);
    expect(await ids({ since: at(3), error: "card-declined" })).toEqual([]);
    expect(await amends.count({ attributes: { tenant: "acme" } })).toEqual({ value: 4, exact: true });
  });

  it("[S-42] an item says what a saga is, where it stands and what is wrong with it", async () => {
    const { amends, clock } = await scene();
    const [later, done] = (await amends.list({ saga: "refund" })).items;
    expect(later).toEqual({
      id: "r-later",
      name: "refund",
      version: 1,
      status: "PENDING",
      attributes: {},
      priority: 4,
      createdAt: new Date(clock.virtualNowMs()),
      updatedAt: new Date(clock.virtualNowMs()),
      dueAt: new Date(clock.virtualNowMs() + 3_600_000),
      isScheduled: true,
      isPaused: false,
      error: undefined,
      step: undefined,
    });
    expect(done).toMatchObject({
      status: "COMPLETED",
      dueAt: undefined,
      attributes: { tenant: "acme", vip: true },
    });
    const wrong = async (status: SagaStatus) =>
      (await amends.list({ status })).items.map(({ id, error, step }) => [id, error, step]);
    expect(await wrong("STALLED")).toEqual([["o-stalled", "RangeError", "reserve"]]);
    expect(await wrong("FAILED")).toEqual([
      ["r-failed", "TypeError", "pay"],
      ["o-failed", "card-declined", "charge"],
    ]);
  });

  it("[S-42] once nothing is wrong any more, a saga is no longer found by its error", async () => {
    const { amends, ids, run } = await scene();
    await amends.retry("o-stalled", { reason: "once more" });
    // It is what it turned back for, until its undo fails again.
    expect(await ids({ error: "RangeError" })).toEqual([]);
    expect(await ids({ error: "card-declined", status: "COMPENSATING" })).toEqual(["o-stalled"]);
    await run();
    expect(await ids({ error: "RangeError", status: "STALLED" })).toEqual(["o-stalled"]);
    await amends.resolve("o-stalled", "COMPLETED", { reason: "refunded by hand" });
    expect(await ids({ error: "RangeError" })).toEqual([]);
    expect(await ids({ error: "card-declined" })).toEqual(["o-failed"]);
    expect(await ids({ status: "COMPLETED", attributes: { tier: 1 } })).toEqual(["o-stalled"]);
  });

  it("[S-42] pages follow one another without a gap or a repetition, at equal instants too, with every filter", async () => {
    const amends = await database.amends({ sagas: [order, refund] });
    const starts = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, n) => ({
        id: `${prefix}-${String(n).padStart(3, "0")}`,
        input: { end: "COMPLETED" },
        delay: "1h" as const,
        attributes: { tenant: n % 2 ? "acme" : "globex", tier: n % 3 },
      }));
    await amends.startMany(order, starts("o", 23));
    await amends.startMany(refund, starts("r", 24));
    const walk = async (options: SagaListOptions): Promise<readonly string[]> => {
      const seen: string[] = [];
      for (let after: string | undefined, pages = 0; pages === 0 || after !== undefined; pages++) {
        const page = await amends.list({ ...options, limit: 5, ...(after !== undefined && { after }) });
        expect(page.items.length).toBeLessThanOrEqual(5);
        seen.push(...page.items.map(({ id }) => id));
        after = page.next;
      }
      expect(new Set(seen).size).toBe(seen.length);
      return seen;
    };
    expect(await walk({})).toHaveLength(47);
    expect(await walk({ saga: "order" })).toHaveLength(23);
    expect(await walk({ attributes: { tenant: "acme" } })).toHaveLength(23);
    expect(await walk({ attributes: { tenant: "acme" }, saga: refund })).toHaveLength(12);
    expect(await walk({ attributes: { tenant: "globex", tier: 2 } })).toHaveLength(8);
    expect(await amends.count()).toEqual({ value: 47, exact: true });
    expect(await amends.count({ status: "COMPLETED" })).toEqual({ value: 0, exact: true });
    expect(await amends.count({ attributes: { tenant: "globex", tier: 2 } })).toEqual({
      value: 8,
      exact: true,
    });
  });

  it("[S-42] what cannot be meant is refused", async () => {
    const amends = await database.amends({ sagas: [order] });
    for (const [options, message] of [
      [{ limit: 0 }, /`limit` must be a whole number from 1 to 500/],
      [{ limit: 501 }, /`limit` must be/],
      [{ status: "DONE" }, /`status` must be one or some of PENDING/],
      [{ status: [] }, /`status` must be one or some of/],
      [{ saga: "no name" }, /`saga` must be a definition, a reference or a name/],
      [{ saga: null }, /`saga` must be a definition, a reference or a name/],
      [{ since: "2026-01-01" }, /`since` must be a valid Date/],
      [{ until: new Date(Number.NaN) }, /`until` must be a valid Date/],
      [{ error: "" }, /`error` must be the label/],
      [{ attributes: { tenant: null } }, /attribute tenant must be/],
      [
        { saga: order, attributes: { region: "eu" } },
        /there is no attribute named region\. There are: tenant, tier/,
      ],
      [{ after: "x" }, /`after` must be the `next` of the previous page/],
      [{ statuses: "FAILED" }, /no option named statuses/],
    ] as const)
      await expect(amends.list(options as never)).rejects.toThrow(message);
    await expect(amends.count({ limit: 1 } as never)).rejects.toThrow(/no option named limit/);
  });
});

it("[S-42] a custom storage has no lists", async () => {
  const amends = new Amends({ storage: new MemorySagaStorage(), sagas: [order] });
  for (const refused of [amends.list(), amends.count()])
    await expect(refused).rejects.toMatchObject({ code: "NOT_SUPPORTED", message: /has no lists of sagas/ });
  await amends.close();
});
