import { err, saga, Terminal, type Amends, type StalledSignal } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { onlooker } from "./support/look.ts";

const nothing = z.object({});

/** A saga whose refund is refused for as long as the bank is closed. */
function shop(): { bank: { open: boolean }; undone: string[]; order: ReturnType<typeof define> } {
  const bank = { open: false };
  const undone: string[] = [];
  return { bank, undone, order: define(bank, undone) };
}

function define(bank: { open: boolean }, undone: string[]) {
  return saga("order", nothing, { compensateRetry: { attempts: 1 } })
    .step("reserve", { act: () => "r-1", compensate: () => void undone.push("reserve") })
    .step("charge", {
      act: () => "c-1",
      compensate: ({ result }) => {
        if (!bank.open) throw new RangeError("the bank is closed");
        undone.push(`charge ${result}`);
      },
    })
    .step("ship", { act: () => err("no-stock") });
}

async function stalled(
  database: TestDatabase,
  onStalled?: (signal: StalledSignal) => void,
): Promise<ReturnType<typeof shop> & { amends: Amends; id: string }> {
  const scene = shop();
  const amends = await database.amends({ sagas: [scene.order], ...(onStalled && { onStalled }) });
  const { id } = await amends.start(scene.order, {});
  await amends.worker().runOnce();
  return { ...scene, amends, id };
}

async function audit(amends: Amends, id: string): Promise<unknown[]> {
  const view = await amends.inspect(id);
  return (view?.timeline ?? [])
    .filter(({ name }) => ["retry", "skip", "resolve"].includes(name))
    .map(({ name, note, by }) => ({ name, note, by }));
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-14] FAILED is said only when everything that may have happened has been undone", async () => {
    const { bank, order, undone } = shop();
    bank.open = true;
    const amends = await database.amends({ sagas: [order] });
    const run = await amends.start(order, {});
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "ship" });
    expect(undone).toEqual(["charge c-1", "reserve"]);
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it("[S-14] a saga whose undo used up its tries is STALLED, with both errors kept, and shows in attention", async () => {
    const { amends, id, undone } = await stalled(database);
    const both = {
      error: { kind: "err", value: "no-stock", label: "no-stock" },
      undoErrors: [{ step: "charge", kind: "exhausted", label: "RangeError" }],
    };
    expect(await (await amends.get(id)).result()).toEqual({
      status: "STALLED",
      id,
      step: "charge",
      reason: "the undo of step charge failed (RangeError)",
      ...both,
    });
    expect((await amends.attention.list()).items).toEqual([
      {
        kind: "stalled-saga",
        id,
        name: "order",
        since: expect.any(Date) as unknown,
        reason: "the undo of step charge failed (RangeError)",
        actions: ["retry", "skip", "resolve"],
        skippable: ["charge"],
        ...both,
      },
    ]);
    expect(undone).toEqual(["reserve"]);
    // It waits for a person: no worker takes it, however long it waits.
    expect(await amends.worker().runOnce()).toBe(0);
    expect(await (await onlooker(database)).row(id)).toMatchObject({ owner: null, next_attempt_at: null });
  });

  it("[S-14] the hook is called once, after the stall is durable, with labels only", async () => {
    const signals: StalledSignal[] = [];
    const seen: unknown[] = [];
    const look = await onlooker(database);
    const { id } = await stalled(database, (signal) => {
      signals.push(signal);
      seen.push(look.row(signal.id).then((row) => row["status"]));
    });
    expect(signals).toEqual([
      { id, saga: "order", step: "charge", reason: "the undo of step charge failed (RangeError)" },
    ]);
    expect(await Promise.all(seen)).toEqual(["STALLED"]);
  });

  it("[S-14] a hook that fails changes nothing", async () => {
    const { amends, id } = await stalled(database, () => {
      throw new Error("the pager is down");
    });
    expect(await (await amends.get(id)).status()).toBe("STALLED");
    expect(await amends.worker().runOnce()).toBe(0);
  });

  it("[S-14] retry gives the undo new tries, and is audited", async () => {
    const { amends, id, bank, undone } = await stalled(database);
    await amends.retry(id, { reason: "trying at once", by: "ann" });
    await amends.worker().runOnce();
    expect(await (await amends.get(id)).status()).toBe("STALLED");
    bank.open = true;
    expect(await amends.retry(id, { reason: "the bank has opened" })).toMatchObject({
      status: "COMPENSATING",
    });
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await (await amends.get(id)).result()).toMatchObject({
      status: "FAILED",
      step: "ship",
      error: { value: "no-stock" },
    });
    expect(undone).toEqual(["reserve", "charge c-1"]);
    expect(await audit(amends, id)).toEqual([
      { name: "retry", note: "trying at once", by: "ann" },
      { name: "retry", note: "the bank has opened", by: undefined },
    ]);
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it("[S-14] skip takes one step's undo out of the way, for a reason, and is audited", async () => {
    const { amends, id, undone } = await stalled(database);
    await expect(amends.skip(id, "reserve", { reason: "wrong one" })).rejects.toMatchObject({
      code: "NOT_ALLOWED_NOW",
      message: "Step reserve cannot be skipped now. Steps that can: charge.",
    });
    const after = await amends.skip(id, "charge", { reason: "refunded by hand, slip 17", by: "ann" });
    expect(after).toMatchObject({ status: "FAILED", error: { kind: "err", value: "no-stock" } });
    expect(undone).toEqual(["reserve"]);
    expect(await audit(amends, id)).toEqual([{ name: "skip", note: "refunded by hand, slip 17", by: "ann" }]);
  });

  it.each(["FAILED", "COMPLETED"] as const)(
    "[S-14] resolve ends it by hand as %s, and is audited",
    async (as) => {
      const { amends, id } = await stalled(database);
      expect(await amends.resolve(id, as, { reason: "settled with the customer", by: "bo" })).toMatchObject({
        status: as,
        actions: as === "COMPLETED" ? ["reverse"] : [],
      });
      expect(await (await amends.get(id)).result()).toMatchObject({ status: as });
      expect(await audit(amends, id)).toEqual([
        { name: "resolve", note: "settled with the customer", by: "bo" },
      ]);
      await expect(amends.resolve(id, "FAILED", { reason: "again" })).rejects.toMatchObject({
        code: "NOT_ALLOWED_NOW",
      });
    },
  );

  it("[S-14] every action asks for a reason, and for a saga that is stalled", async () => {
    const { amends, id } = await stalled(database);
    const before = await amends.inspect(id);
    for (const reason of ["", "   ", "x".repeat(1_001)]) {
      await expect(amends.retry(id, { reason })).rejects.toMatchObject({ code: "BAD_OPTION" });
      await expect(amends.skip(id, "charge", { reason })).rejects.toMatchObject({ code: "BAD_OPTION" });
      await expect(amends.resolve(id, "FAILED", { reason })).rejects.toMatchObject({ code: "BAD_OPTION" });
    }
    await expect(amends.retry("nobody", { reason: "x" })).rejects.toMatchObject({ code: "SAGA_NOT_FOUND" });
    await expect(amends.cancel(id, { reason: "x" })).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    const as = "DONE" as "FAILED";
    await expect((async () => amends.resolve(id, as, { reason: "x" }))()).rejects.toMatchObject({
      code: "BAD_OPTION",
    });
    expect(await amends.inspect(id)).toEqual(before);
  });

  it("[S-14] attention is read page by page, the longest stalled first", async () => {
    const stuck = saga("stuck", nothing)
      .step("one", { act: () => 1, compensate: () => Promise.reject(new Terminal("no")) })
      .step("two", { act: () => err("no") });
    const amends = await database.amends({ sagas: [stuck] });
    const ids: string[] = [];
    for (const id of ["a", "b", "c"]) {
      await amends.start(stuck, {}, { id });
      await amends.worker().runOnce();
      ids.push(id);
    }
    const first = await amends.attention.list({ limit: 2 });
    const second = await amends.attention.list({ limit: 2, after: first.next as string });
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(ids);
    expect(second.next).toBeUndefined();
  });
});
