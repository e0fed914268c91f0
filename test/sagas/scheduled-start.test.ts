/** A saga that is started for later is recorded at once, and runs when its time has come. */
import { Amends, saga, sagaRef, signal } from "amends";
import { event } from "amends/events";
import { MemorySagaStorage } from "amends/storage";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { onlooker } from "./support/look.ts";

const schema = z.object({ orderId: z.string() });
const HOUR_MS = 3_600_000;
const Paid = event("Paid", schema);
const approved = signal("approved", z.object({ by: z.string() }));

function orderSaga(log: string[] = []) {
  return saga("order", schema).step("one", { act: ({ input }) => void log.push(input.orderId) });
}

async function runAll(amends: Amends): Promise<number> {
  let runs = 0;
  for (let found = await amends.worker().runOnce(); found > 0; found = await amends.worker().runOnce())
    runs += found;
  return runs;
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-39] a saga with a delay is recorded now, and no worker claims it a moment before its time", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const order = orderSaga(log);
    const amends = await database.amends({ sagas: [order], clock });
    // This process has free slots: even so, the saga is not begun here.
    await database.worker(amends, { poll: "1h" });
    const run = await amends.start(order, { orderId: "o-1" }, { id: "o-1", delay: "2h" });
    expect(await amends.inspect("o-1")).toMatchObject({
      status: "PENDING",
      owner: undefined,
      isScheduled: true,
      runAt: new Date(clock.virtualNowMs() + 2 * HOUR_MS),
      dueAt: new Date(clock.virtualNowMs() + 2 * HOUR_MS),
    });
    const other = await database.amends({ sagas: [order], clock });
    clock.jump(2 * HOUR_MS - 1);
    expect(await other.worker().runOnce()).toBe(0);
    clock.jump(1);
    expect(await other.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual(["o-1"]);
    expect(await amends.inspect("o-1")).toMatchObject({ isScheduled: false });
  });

  it("[S-39] an instant is compared with the database's clock, and one that has passed is now", async () => {
    const clock = virtualClock();
    const order = orderSaga();
    const amends = await database.amends({ sagas: [order], clock });
    const at = (ms: number): Date => new Date(clock.virtualNowMs() + ms);
    await amends.start(order, { orderId: "later" }, { id: "later", runAt: at(HOUR_MS) });
    await amends.start(order, { orderId: "now" }, { id: "now" });
    await amends.start(order, { orderId: "past" }, { id: "past", runAt: new Date(-8.64e15) });
    const look = await onlooker(database);
    const gates = await Promise.all(["later", "now", "past"].map((id) => look.row(id)));
    const nowMs = clock.virtualNowMs();
    // An instant of long ago does not put a saga in front of those that have waited.
    expect(gates.map((row) => Number(row["gate_ms"]) - nowMs)).toEqual([HOUR_MS, 0, 0]);
    expect(await runAll(amends)).toBe(2);
    clock.jump(HOUR_MS);
    expect(await runAll(amends)).toBe(1);
  });

  it("[S-39] a worker that polls rarely runs a saga when its delay is over", async () => {
    const order = orderSaga();
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends, { poll: "1h" });
    const runs = [
      await amends.start(order, { orderId: "o-1" }, { delay: "40ms" }),
      await amends.start(order, { orderId: "o-2" }, { runAt: new Date(Date.now() + 40) }),
    ];
    for (const run of runs) expect(await run.result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-39] in the caller's transaction and by a reference it is scheduled as well", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const web = await database.amends({ database: db });
    const reference = sagaRef("order", schema);
    await db.transaction(async (_session, tx) => {
      await web.start(reference, { orderId: "o-1" }, { id: "o-1", delay: "2h", tx });
    });
    const worker = await database.amends({ database: db, sagas: [orderSaga()] });
    expect(await runAll(worker)).toBe(0);
    const runAt = new Date(clock.virtualNowMs() + 2 * HOUR_MS);
    expect(await web.inspect("o-1")).toMatchObject({ isScheduled: true, runAt });
    clock.jump(2 * HOUR_MS);
    expect(await runAll(worker)).toBe(1);
  });

  it("[S-39][S-21] the deadline of a scheduled saga counts from its time on, also if a reference started it", async () => {
    const clock = virtualClock();
    const order = saga("order", schema, { deadline: "1h" })
      .step("one", { act: () => 1 })
      .sleep("nap", "50m")
      .step("two", { act: () => 2 });
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, sagas: [order] });
    const web = await database.amends({ database: db });
    await amends.start(order, { orderId: "o-1" }, { id: "known", delay: "5h" });
    await web.start(sagaRef("order", schema), { orderId: "o-1" }, { id: "referred", delay: "5h" });
    clock.jump(5 * HOUR_MS);
    expect(await runAll(amends)).toBe(2);
    clock.jump(50 * 60_000);
    expect(await runAll(amends)).toBe(2);
    for (const id of ["known", "referred"])
      expect(await amends.inspect(id)).toMatchObject({ id, status: "COMPLETED" });
  });

  it("[S-39] signals and events that come before its time are kept for it", async () => {
    const clock = virtualClock();
    const order = saga("order", schema)
      .waitFor("approval", { signal: approved })
      .waitFor("payment", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
      .step("ship", { act: ({ results }) => results.approval.by });
    const amends = await database.amends({ sagas: [order], clock });
    const run = await amends.start(order, { orderId: "o-1" }, { id: "o-1", delay: "2h" });
    await amends.signal("o-1", approved, { by: "ann" });
    await amends.events.publish(Paid({ orderId: "o-1" }));
    await runAll(amends);
    // They do not wake it.
    expect(await run.status()).toBe("PENDING");
    clock.jump(2 * HOUR_MS);
    await runAll(amends);
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { ship: "ann" } });
  });

  it("[S-39][S-23] a saga that is cancelled before its time ends at once, without a call", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const amends = await database.amends({ sagas: [orderSaga(log)], clock });
    const run = await amends.start(orderSaga(log), { orderId: "o-1" }, { id: "o-1", delay: "2h" });
    await amends.cancel("o-1", { reason: "sold out" });
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    clock.jump(3 * HOUR_MS);
    expect(await runAll(amends)).toBe(0);
    expect(log).toEqual([]);
  });

  it("[S-39][S-18] starting it again finds it: name and input tell sagas apart, not how they were started", async () => {
    const clock = virtualClock();
    const order = orderSaga();
    const amends = await database.amends({ sagas: [order], clock });
    await amends.start(order, { orderId: "o-1" }, { id: "o-1", delay: "2h", priority: 3 });
    const again = await amends.start(order, { orderId: "o-1" }, { id: "o-1", priority: 7 });
    expect(again.created).toBe(false);
    expect(await amends.inspect("o-1")).toMatchObject({
      priority: 3,
      isScheduled: true,
      runAt: new Date(clock.virtualNowMs() + 2 * HOUR_MS),
    });
  });

  it("[S-39][K-20] what cannot be meant is refused, and nothing is written", async () => {
    const order = orderSaga();
    const amends = await database.amends({ sagas: [order] });
    for (const [options, message] of [
      [{ runAt: new Date(), delay: "1s" }, /`runAt` or `delay`, not both/],
      [{ runAt: new Date(Number.NaN) }, /`runAt` must be a valid Date/],
      [{ runAt: "2030-01-01" }, /`runAt` must be a valid Date/],
      [{ delay: "40000d" }, /at most 36500d/],
      [{ delay: -1 }, /`delay` must be milliseconds/],
      [{ priority: 11 }, /`priority` must be a whole number from 0 to 10/],
      [{ priority: -1 }, /`priority` must be a whole number/],
      [{ priority: 1.5 }, /`priority` must be a whole number/],
      [{ runat: new Date() }, /no option named runat/],
    ] as const)
      await expect(amends.start(order, { orderId: "o-1" }, options as never)).rejects.toThrow(message);
    expect(await (await onlooker(database)).count()).toBe(0);
  });
});

it("[S-39] on a custom storage a delay works; priorities, attributes and startMany are refused", async () => {
  const clock = virtualClock();
  const order = orderSaga();
  const amends = new Amends({ storage: new MemorySagaStorage(), clock, sagas: [order] });
  const run = await amends.start(order, { orderId: "o-1" }, { delay: "2h" });
  const runAt = new Date(clock.virtualNowMs() + 2 * HOUR_MS);
  expect(await amends.inspect(run.id)).toMatchObject({ isScheduled: true, runAt });
  clock.jump(2 * HOUR_MS - 1);
  expect(await amends.worker().runOnce()).toBe(0);
  clock.jump(HOUR_MS);
  expect(await amends.worker().runOnce()).toBe(1);
  expect(await run.result()).toMatchObject({ status: "COMPLETED" });
  const input = { orderId: "o-2" };
  for (const refused of [
    amends.start(order, input, { priority: 1 }),
    amends.start(order, input, { attributes: { tenant: "acme" } }),
    amends.startMany(order, [{ input }]),
  ])
    await expect(refused).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
      message: /custom `storage` cannot/,
    });
  await amends.close();
});
