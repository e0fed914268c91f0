/** Bulk actions on sagas: what each action does, what is on record, and which items are taken. */
import { Amends } from "amends";
import type { BulkItems } from "amends/bulk";
import { MemorySagaStorage } from "amends/storage";
import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { NOTE, numberedIds, scene } from "./support/scene.ts";

onEachDatabase((database) => {
  it("[S-43] a preview counts what would be taken, names some of it, and changes nothing", async () => {
    const { amends, add, recorded } = await scene(database);
    await add(numberedIds("o", 7), { attributes: { tenant: "acme" } });
    await add(["w-1"], { input: { end: "waits" } });
    const preview = await amends.bulk.preview({ action: "retry", status: "STALLED" });
    expect(preview).toMatchObject({ count: 7, exact: true });
    expect(preview.sample).toHaveLength(5);
    expect(await amends.bulk.preview({ action: "retry", attributes: { tenant: "other" } })).toEqual({
      count: 0,
      exact: true,
      sample: [],
    });
    expect(await amends.bulk.preview({ action: "cancel", saga: "order" })).toMatchObject({ count: 8 });
    expect(await amends.bulk.preview({ action: "retry", ids: ["a", "b", "a"] })).toEqual({
      count: 2,
      exact: true,
      sample: ["a", "b"],
    });
    expect(await recorded()).toEqual([]);
    expect((await amends.bulk.list()).items).toEqual([]);
  });

  it("[S-43] a retry over a filter retries every stalled saga once, page by page, each on record with the one reason", async () => {
    const { amends, add, world, work, recorded, lines } = await scene(database);
    const ids = numberedIds("o", 120);
    await add(ids);
    world.isDown = false;
    const started = await amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE, id: "b-1" });
    expect(started).toMatchObject({ id: "b-1", status: "running", total: 120, exact: true, done: 0 });
    await work();
    expect(await amends.bulk.get("b-1")).toMatchObject({
      status: "completed",
      done: 120,
      refused: 0,
      refusals: [],
      ...NOTE,
      filter: { status: ["STALLED"] },
    });
    expect(world.undone.toSorted()).toEqual(ids);
    expect(await lines("$retry")).toEqual(Object.fromEntries(ids.map((id) => [id, 1])));
    const items = (await recorded()).filter(({ target }) => target.kind === "saga");
    expect(items.map(({ target }) => target.id).toSorted()).toEqual(ids);
    for (const { id, target, ...item } of items) {
      expect(id).toBe(`bulk:b-1:${target.id}`);
      expect(item).toMatchObject({ action: "retry", outcome: "done", ...NOTE });
    }
    expect(await recorded("b-1")).toMatchObject([
      { action: "retry", target: { kind: "bulk", id: "b-1" }, outcome: "done", ...NOTE },
    ]);
    const view = await amends.inspect("o-000");
    expect(view?.timeline.find(({ name }) => name === "retry")).toMatchObject({
      note: NOTE.reason,
      by: NOTE.by,
      bulk: "b-1",
    });
  });

  it("[S-43] cancel, skip and resolve do to each saga what the single action does", async () => {
    const { amends, add, world, work, lines } = await scene(database);
    await add(["s-1", "s-2", "s-3"]);
    await add(["w-1", "w-2"], { input: { end: "waits" } });
    const run = async (items: BulkItems): Promise<object> => {
      const { id } = await amends.bulk.start({ ...items, ...NOTE });
      await work();
      const { status, done, refused } = await amends.bulk.get(id);
      return { status, done, refused };
    };
    const status = async (id: string): Promise<string | undefined> => (await amends.inspect(id))?.status;
    expect(await run({ action: "skip", ids: ["s-1"], step: "reserve" })).toEqual({
      status: "completed",
      done: 1,
      refused: 0,
    });
    expect(await status("s-1")).toBe("FAILED");
    expect(await run({ action: "resolve", saga: "order", as: "FAILED" })).toMatchObject({ done: 2 });
    expect([await status("s-2"), await status("s-3")]).toEqual(["FAILED", "FAILED"]);
    world.isDown = false;
    expect(await run({ action: "cancel", saga: "order" })).toMatchObject({ done: 2 });
    expect([await status("w-1"), await status("w-2")]).toEqual(["FAILED", "FAILED"]);
    expect([await lines("$skip"), await lines("$resolve")]).toEqual([{ "s-1": 1 }, { "s-2": 1, "s-3": 1 }]);
  });

  it("[S-43] an item that is refused is counted, listed with its code and on record, and stops no other", async () => {
    const { amends, add, world, work, recorded } = await scene(database);
    await add(["s-1", "s-2"]);
    await add(["w-1"], { input: { end: "waits" } });
    world.isDown = false;
    const { id } = await amends.bulk.start({ action: "retry", ids: ["w-1", "s-1", "no", "s-2"], ...NOTE });
    await work();
    expect(await amends.bulk.get(id)).toMatchObject({
      status: "completed",
      total: 4,
      done: 2,
      refused: 2,
      refusals: [
        { id: "w-1", code: "NOT_ALLOWED_NOW" },
        { id: "no", code: "SAGA_NOT_FOUND" },
      ],
    });
    expect(await recorded("no")).toMatchObject([
      { action: "retry", outcome: "refused", code: "SAGA_NOT_FOUND", ...NOTE },
    ]);
    expect(world.undone.toSorted()).toEqual(["s-1", "s-2"]);
  });

  it("[S-43] of refused items the first 100 are listed, and all are counted", async () => {
    const { amends, work } = await scene(database);
    const { id } = await amends.bulk.start({ action: "retry", ids: numberedIds("no", 130), ...NOTE });
    await work();
    const { refused, refusals } = await amends.bulk.get(id);
    expect([refused, refusals.length]).toEqual([130, 100]);
  });

  it("[S-43] items that arise after the start are not taken", async () => {
    const { amends, add, clock, order, world, work, lines } = await scene(database);
    await add(["s-1", "s-2"]);
    const { id } = await amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE });
    clock.jump(1_000);
    // A worker that carries out no bulk actions has one more stall, and one stall again.
    await amends.startMany(order, [{ id: "s-3", input: {} }]);
    await amends.retry("s-2", { reason: "by hand" });
    for (let step = 0; step < 4; step++) {
      clock.jump(10);
      await amends.worker({ only: ["sagas"] }).runOnce();
    }
    expect((await amends.list({ status: "STALLED" })).items.map((one) => one.id)).toEqual([
      "s-3",
      "s-2",
      "s-1",
    ]);
    world.isDown = false;
    await work();
    expect(await amends.bulk.get(id)).toMatchObject({ status: "completed", done: 1, refused: 0 });
    expect(await lines("$retry")).toEqual({ "s-1": 1, "s-2": 1 });
    expect(world.undone).toEqual(["s-1"]);
  });

  it("[S-43] a saga that stalls again after its retry is not taken a second time", async () => {
    const { retryAll, add, lines } = await scene(database);
    await add(numberedIds("s", 60));
    expect(await retryAll()).toMatchObject({ status: "completed", done: 60 });
    expect(Object.values(await lines("$retry")).every((count) => count === 1)).toBe(true);
  });

  it("[S-43] the same start under the same id is the same bulk action; another one is refused", async () => {
    const { amends, add, work, lines, world } = await scene(database);
    await add(["s-1"]);
    const start = { action: "retry", status: "STALLED", ...NOTE, id: "b-1" } as const;
    const both = await Promise.all([amends.bulk.start(start), amends.bulk.start(start)]);
    expect(both.map(({ id }) => id)).toEqual(["b-1", "b-1"]);
    for (const other of [
      { ...start, reason: "another" },
      { ...start, by: "ben" },
      { ...start, saga: "order" },
      { ...start, action: "cancel" } as const,
    ])
      await expect(amends.bulk.start(other)).rejects.toMatchObject({ code: "BULK_CONFLICT" });
    world.isDown = false;
    await work();
    expect(await amends.bulk.start(start)).toMatchObject({ status: "completed", done: 1 });
    await work();
    expect(await lines("$retry")).toEqual({ "s-1": 1 });
    expect((await amends.bulk.list()).items).toHaveLength(1);
  });

  it("[S-43] bulk actions are listed page by page, the newest first", async () => {
    const { amends, clock } = await scene(database);
    for (const id of ["a", "b", "c"]) {
      await amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE, id });
      clock.jump(5);
    }
    const first = await amends.bulk.list({ limit: 2 });
    expect(first.items.map(({ id }) => id)).toEqual(["c", "b"]);
    const { items, next } = await amends.bulk.list({ limit: 2, after: first.next as string });
    expect([items.map(({ id }) => id), next]).toEqual([["a"], undefined]);
  });

  it("[S-43] what cannot be meant is refused before anything is written", async () => {
    const { amends } = await scene(database);
    const refused: readonly (readonly [object, string])[] = [
      [{ action: "retry" }, "BAD_OPTION"],
      [{ action: "requeue" }, "BAD_OPTION"],
      [{ action: "requeue", kind: "call" }, "BAD_OPTION"],
      [{ action: "resend" }, "BAD_OPTION"],
      [{ action: "reverse", status: "COMPLETED" }, "BAD_OPTION"],
      [{ action: "retry", status: "COMPLETED" }, "BAD_OPTION"],
      [{ action: "retry", status: ["STALLED", "RUNNING"] }, "BAD_OPTION"],
      [{ action: "cancel", status: "FAILED" }, "BAD_OPTION"],
      [{ action: "retry", status: "STALLED", ids: ["a"] }, "BAD_OPTION"],
      [{ action: "retry", ids: [] }, "BAD_OPTION"],
      [{ action: "retry", ids: numberedIds("i", 10_001) }, "BAD_OPTION"],
      [{ action: "retry", ids: [""] }, "BAD_ID"],
      [{ action: "requeue", ids: ["a"] }, "BAD_ID"],
      [{ action: "resend", ids: ["a"] }, "BAD_ID"],
      [{ action: "skip", status: "STALLED" }, "BAD_OPTION"],
      [{ action: "resolve", status: "STALLED" }, "BAD_OPTION"],
      [{ action: "retry", status: "STALLED", step: "charge" }, "BAD_OPTION"],
      [{ action: "retry", status: "STALLED", as: "FAILED" }, "BAD_OPTION"],
      [{ action: "retry", status: "STALLED", surprise: true }, "BAD_OPTION"],
      [{ action: "retry", saga: "" }, "BAD_OPTION"],
      [{ action: "requeue", status: "pending" }, "BAD_OPTION"],
      [{ action: "requeue", name: 3 }, "BAD_OPTION"],
      [{ action: "requeue", status: "abandoned", kind: "event" }, "BAD_OPTION"],
      [{ action: "resend", status: "Failed" }, "BAD_OPTION"],
      [{ action: "resend", since: new Date(Number.NaN) }, "BAD_OPTION"],
    ];
    for (const [items, code] of refused) {
      await expect(amends.bulk.preview(items as BulkItems)).rejects.toMatchObject({
        code,
      });
      await expect(amends.bulk.start({ ...(items as BulkItems), ...NOTE })).rejects.toMatchObject({ code });
    }
    const retry = { action: "retry", status: "STALLED" } as const;
    for (const note of [{}, { reason: " " }, { reason: "x", by: 3 }, { reason: "x".repeat(1_001) }])
      await expect(amends.bulk.start({ ...retry, ...(note as typeof NOTE) })).rejects.toMatchObject({
        code: "BAD_OPTION",
      });
    for (const id of ["", "a:b", "-a", "x".repeat(65), 3])
      await expect(amends.bulk.start({ ...retry, ...NOTE, id: id as string })).rejects.toMatchObject({
        code: "BAD_ID",
      });
    await expect(amends.bulk.stop("none", { reason: "" })).rejects.toMatchObject({ code: "BAD_OPTION" });
    for (const id of ["none", "a\0b"]) {
      await expect(amends.bulk.get(id)).rejects.toMatchObject({ code: "BULK_NOT_FOUND" });
      await expect(amends.bulk.stop(id, NOTE)).rejects.toMatchObject({ code: "BULK_NOT_FOUND" });
      await expect(amends.bulk.repeat(id, NOTE)).rejects.toMatchObject({ code: "BULK_NOT_FOUND" });
    }
    await expect(amends.bulk.list({ limit: 0 })).rejects.toMatchObject({ code: "BAD_OPTION" });
    expect((await amends.bulk.list()).items).toEqual([]);
  });
});

it("[S-43] a custom storage has no bulk actions, and says so", () => {
  const amends = new Amends({ storage: new MemorySagaStorage() });
  expect(() => amends.bulk).toThrow(expect.objectContaining({ code: "NOT_SUPPORTED" }));
});
