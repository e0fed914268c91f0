import { saga, type Amends, type StepNews } from "amends";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { collect } from "./support/collect.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";

const input = z.object({ sku: z.string(), note: z.object({ a: z.number(), b: z.number() }).optional() });

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-18] starting twice with one id and one input is one saga, and both get its outcome", async () => {
    const calls: string[] = [];
    const order = saga("order", input).step("one", { act: ({ input: { sku } }) => (calls.push(sku), sku) });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const runs = await Promise.all(
      [1, 2, 3, 4].map(() => amends.start(order, { sku: "tea" }, { id: "o-1" })),
    );
    expect(runs.filter(({ created }) => created)).toHaveLength(1);
    for (const run of runs) {
      expect(await run.result()).toEqual({ status: "COMPLETED", id: "o-1", results: { one: "tea" } });
    }
    const late = await amends.start(order, { sku: "tea" }, { id: "o-1" });
    expect(late.created).toBe(false);
    expect(await late.result()).toEqual({ status: "COMPLETED", id: "o-1", results: { one: "tea" } });
    expect(calls).toEqual(["tea"]);
    expect(await (await onlooker(database)).count()).toBe(1);
  });

  it("[S-18] the same input is the same whatever the order of its keys", async () => {
    const loose = z.looseObject({ sku: z.string() });
    const order = saga("order", loose).step("one", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    await amends.start(order, { sku: "tea", note: { a: 1, b: [1, 2] } }, { id: "o-1" });
    const again = { note: { b: [1, 2], a: 1 }, sku: "tea" };
    expect((await amends.start(order, again, { id: "o-1" })).created).toBe(false);
    await expect(
      amends.start(order, { sku: "tea", note: { a: 1, b: [2, 1] } }, { id: "o-1" }),
    ).rejects.toMatchObject({ code: "SAGA_CONFLICT" });
  });

  it("[S-18] starting one that nobody runs resumes it", async () => {
    const order = saga("order", input).step("one", { act: ({ input: { sku } }) => sku });
    const first = await database.amends({ sagas: [order] });
    await first.start(order, { sku: "tea" }, { id: "o-1" });
    await first.close();
    const second = await database.amends({ sagas: [order] });
    const run = await second.start(order, { sku: "tea" }, { id: "o-1" });
    expect(run.created).toBe(false);
    await second.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: "tea" } });
  });

  it("[S-18] an id that exists with another name or other input is a typed conflict, and changes nothing", async () => {
    const order = saga("order", input).step("one", { act: () => 1 });
    const refund = saga("refund", input).step("one", { act: () => 1 });
    const amends = await database.amends({ sagas: [order, refund] });
    const look = await onlooker(database);
    await amends.start(order, { sku: "tea" }, { id: "o-1" });
    const before = await look.row("o-1");
    await expect(amends.start(order, { sku: "rice" }, { id: "o-1" })).rejects.toMatchObject({
      code: "SAGA_CONFLICT",
      message: /exists with other input\. Use another id/,
      details: { id: "o-1", name: "order" },
    });
    await expect(amends.start(refund, { sku: "tea" }, { id: "o-1" })).rejects.toMatchObject({
      code: "SAGA_CONFLICT",
      message: /^A saga of order has this id, and ids are unique over all sagas\. Use another id/,
    });
    expect(await look.row("o-1")).toEqual(before);
    expect(await look.count()).toBe(1);
  });

  it("[S-18] two processes that start the same id at once make one saga", async () => {
    const calls: string[] = [];
    const order = saga("order", input).step("one", { act: ({ sagaId }) => void calls.push(sagaId) });
    const processes: Amends[] = [];
    for (let n = 0; n < 3; n++) processes.push(await database.amends({ sagas: [order] }));
    for (const amends of processes) await database.worker(amends, { poll: "20ms" });
    const runs = await Promise.all(
      processes.flatMap((amends) => ["a", "b"].map((id) => amends.start(order, { sku: "tea" }, { id }))),
    );
    expect(runs.filter(({ created }) => created)).toHaveLength(2);
    for (const run of runs) expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(calls.toSorted()).toEqual(["a", "b"]);
  });

  it("[S-18] streaming a COMPLETED saga yields nothing, and is not an error", async () => {
    const order = saga("order", input).step("one", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    await (await amends.start(order, { sku: "tea" }, { id: "o-1" })).result();
    const again = await amends.start(order, { sku: "tea" }, { id: "o-1" });
    expect(await collect(again.stream())).toEqual([]);
    expect(await collect((await amends.get("o-1")).stream())).toEqual([]);
  });

  it("[S-18] a stream gives each step as it becomes durable, in order, with results and errors", async () => {
    const order = saga("order", input, { retry: { attempts: 2, base: "1ms" } })
      .step("one", { act: () => ({ id: 1 }), compensate: () => "ignored" })
      .step("two", { act: () => Promise.reject(new TypeError("x")) });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, { sku: "tea" });
    expect(await collect(run.stream())).toEqual([
      { name: "one", action: "act", status: "COMPLETED", result: { id: 1 } },
      {
        name: "two",
        action: "act",
        status: "FAILED",
        error: { kind: "retry", label: "TypeError", waitMs: 1 },
      },
      { name: "two", action: "act", status: "FAILED", error: { kind: "exhausted", label: "TypeError" } },
      { name: "one", action: "compensate", status: "COMPLETED" },
    ]);
  });

  it("[S-18] a reader in another process sees the same stream", async () => {
    const held = gate();
    const order = saga("order", input)
      .step("one", { act: () => held.pass() })
      .step("two", { act: () => 2 });
    const here = await database.amends({ sagas: [order] });
    const there = await database.amends({ sagas: [order] });
    await database.worker(here);
    await here.start(order, { sku: "tea" }, { id: "o-1" });
    await held.reached;
    const found = await there.get("o-1");
    const reading = collect(found.stream());
    held.open();
    expect((await reading).map(({ name, status }) => `${name} ${status}`)).toEqual([
      "one COMPLETED",
      "two COMPLETED",
    ]);
  });

  it("[S-18] a reader that stops early leaves the saga running", async () => {
    const order = saga("order", input)
      .step("one", { act: () => 1 })
      .step("two", { act: () => 2 })
      .step("three", { act: () => 3 });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, { sku: "tea" });
    for await (const { name } of run.stream()) if (name === "one") break;
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: 1, two: 2, three: 3 } });
  });

  it("[S-18] a reader that throws makes the saga compensate, and its error is thrown on", async () => {
    const undone: string[] = [];
    const held = gate();
    const order = saga("order", input)
      .step("one", { act: () => 1, compensate: () => void undone.push("one") })
      .step("two", { act: () => held.pass(), compensate: () => void undone.push("two") })
      .step("three", { act: () => 3 });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, { sku: "tea" });
    const mine = new Error("the reader's own");
    const reading = run.each(() => {
      throw mine;
    });
    await expect(reading).rejects.toBe(mine);
    held.open();
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(undone).toEqual(["two", "one"]);
    expect((await amends.inspect(run.id))?.timeline).toContainEqual(
      expect.objectContaining({ name: "cancel", note: "the reader of its steps failed" }),
    );
  });

  it("[S-18] a reader that throws too late for a cancel is heard all the same", async () => {
    const order = saga("order", input).pivot("one", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, { sku: "tea" });
    const heard: StepNews[] = [];
    await expect(
      run.each((step) => {
        heard.push(step);
        throw new RangeError("late");
      }),
    ).rejects.toThrow(RangeError);
    expect(heard).toHaveLength(1);
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-18] waiting can be given up; the saga goes on", async () => {
    const held = gate();
    const order = saga("order", input).step("one", { act: () => held.pass() });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, { sku: "tea" });
    const patience = new AbortController();
    const waiting = run.result({ signal: patience.signal });
    patience.abort();
    await expect(waiting).rejects.toMatchObject({ code: "STOPPED_WAITING" });
    for (const signal of [undefined, new AbortController().signal, AbortSignal.abort()])
      await expect(run.result({ timeout: "20ms", ...(signal && { signal }) })).rejects.toMatchObject({
        code: "STOPPED_WAITING",
      });
    await expect(run.result({ timeout: 0 })).rejects.toMatchObject({ code: "BAD_DURATION" });
    await expect(run.result({ within: 1 } as never)).rejects.toMatchObject({ code: "BAD_OPTION" });
    held.open();
    expect(await run.result({ timeout: "1h" })).toMatchObject({ status: "COMPLETED" });
    await vi.waitFor(async () => expect(await run.status()).toBe("COMPLETED"));
  });
});
