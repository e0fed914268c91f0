/** Sagas of steps that wait for events. */
import { saga, signal, type Amends } from "amends";
import { err, event, eventSaga, handler, ok, sagaHandler, step } from "amends/events";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { checkInvariantsAfterEach } from "../sagas/support/check-invariants.ts";
import { gate } from "../sagas/support/gate.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { sent, waitFor } from "./support/flow.ts";

const orderSchema = z.object({ orderId: z.string() });
const Paid = event("Paid", z.object({ orderId: z.string(), cents: z.number().int() }));
const Settled = event("Settled", orderSchema);
const Refused = event("Refused", orderSchema);

/** Waits for the payment of its own order. */
const order = saga("order", orderSchema)
  .step("reserve", { act: () => "r-1", compensate: () => undefined })
  .waitFor("payment", {
    event: Paid,
    where: "orderId",
    equals: ({ input }) => input.orderId,
    timeout: "3d",
  })
  .step("ship", { act: ({ results }) => results.payment.cents });

async function interests(database: TestDatabase): Promise<number> {
  const db = await database.open();
  const [row] = await db.query(sql`select count(*) as n from ${db.dialect.table("saga_interests")}`);
  return Number(row?.["n"]);
}

/** Runs whatever is due, of sagas and of events, until nothing is. */
async function workOff(amends: Amends): Promise<void> {
  while ((await amends.worker().runOnce()) > 0);
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-25] a signal that has the id of an event does not take the event's place", async () => {
    const told = signal("told", z.object({}));
    const both = saga("both", orderSchema)
      .waitFor("word", { signal: told })
      .waitFor("payment", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId });
    const amends = await database.amends({ sagas: [both], clock: virtualClock() });
    const run = await amends.start(both, { orderId: "o-1" });
    await workOff(amends);
    const payment = Paid({ orderId: "o-1", cents: 1 });
    await amends.signal(run.id, told, {}, { id: payment.id });
    await amends.events.publish(payment);
    await workOff(amends);
    expect(await run.status()).toBe("COMPLETED");
  });

  it("[S-25][F-17] a published event reaches the saga that waits for it, and no other, exactly once", async () => {
    const amends = await database.amends({ sagas: [order], clock: virtualClock() });
    const mine = await amends.start(order, { orderId: "o-1" });
    const other = await amends.start(order, { orderId: "o-2" });
    await workOff(amends);
    expect((await amends.inspect(mine.id))?.waiting).toMatchObject({
      step: "payment",
      kind: "event",
      for: "Paid",
    });
    const payment = Paid({ orderId: "o-1", cents: 1_200 });
    await amends.events.publish(payment);
    await amends.events.publish(payment);
    await workOff(amends);
    expect(await mine.result()).toMatchObject({
      status: "COMPLETED",
      results: { payment: { orderId: "o-1", cents: 1_200 }, ship: 1_200 },
    });
    expect((await amends.inspect(other.id))?.status).toBe("RUNNING");
    expect(await sent(await database.open())).toEqual(["Paid > $waits.Paid"]);
  });

  it("[S-25] an event that is published after the start and before the saga waits is kept", async () => {
    const held = gate();
    const slow = saga("slow", orderSchema)
      .step("reserve", { act: () => held.pass() })
      .waitFor("payment", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId });
    const amends = await database.amends({ sagas: [slow] });
    await database.worker(amends);
    const run = await amends.start(slow, { orderId: "o-1" });
    await held.reached;
    await amends.events.publish(Paid({ orderId: "o-1", cents: 7 }));
    const db = await database.open();
    await waitFor(async () => (await sent(db))[0] === "Paid > $waits.Paid");
    held.open();
    expect(await run.result()).toMatchObject({ results: { payment: { cents: 7 } } });
  });

  it("[S-25] two waits for events of one kind take two events, in their order; a third is not kept", async () => {
    const instalments = saga("instalments", orderSchema)
      .waitFor("first", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
      .waitFor("second", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
      .waitFor("approval", { signal: signal("approved", z.string()), timeout: "1h", onTimeout: "continue" });
    const amends = await database.amends({ sagas: [instalments], clock: virtualClock() });
    const { id } = await amends.start(instalments, { orderId: "o-1" });
    for (const cents of [1, 2, 3]) {
      await amends.events.publish(Paid({ orderId: "o-1", cents }));
      await workOff(amends);
    }
    expect((await amends.inspect(id))?.results).toMatchObject({ first: { cents: 1 }, second: { cents: 2 } });
    const db = await database.open();
    expect(await db.query(sql`select 1 from ${db.dialect.table("saga_signals")}`)).toHaveLength(2);
  });

  it("[S-25][F-17] an event whose delivery is tried again is given to no second step", async () => {
    const instalments = saga("instalments", orderSchema)
      .waitFor("first", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
      .waitFor("second", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId });
    const clock = virtualClock();
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, sagas: [instalments] });
    const { id } = await amends.start(instalments, { orderId: "o-1" });
    const payment = Paid({ orderId: "o-1", cents: 1 });
    await amends.events.publish(payment);
    await workOff(amends);
    // As if its worker had been lost between telling the saga and saying so.
    const outbox = db.dialect.table("outbox");
    await db.query(sql`delete from ${outbox} where event_id = ${payment.id}`);
    await amends.events.publish(payment);
    await workOff(amends);
    expect((await amends.inspect(id))?.waiting).toMatchObject({ step: "second" });
    expect(await db.query(sql`select 1 from ${db.dialect.table("saga_signals")}`)).toHaveLength(1);
  });

  it("[S-25][F-15] in the publisher's transaction an event is published exactly if that commits", async () => {
    const db = await database.open({ clock: virtualClock() });
    const amends = await database.amends({ database: db, sagas: [order] });
    const { id } = await amends.start(order, { orderId: "o-1" });
    const publish = (fails: boolean) =>
      db.transaction(async (_, tx) => {
        await amends.events.publish(Paid({ orderId: "o-1", cents: 5 }), { tx });
        if (fails) throw new Error("rolled back");
      });
    await expect(publish(true)).rejects.toThrow("rolled back");
    await workOff(amends);
    expect((await amends.inspect(id))?.status).toBe("RUNNING");
    await publish(false);
    await workOff(amends);
    expect((await amends.inspect(id))?.status).toBe("COMPLETED");
  });

  it("[S-25][S-28] what a step of one saga emits, another saga waits for, and so does a handler", async () => {
    const heard: number[] = [];
    const accounts = handler("accounts", {
      on: Paid,
      ok: Settled,
      err: Refused,
      handle: ({ orderId, cents }) => (
        heard.push(cents),
        cents > 0 ? ok(Settled({ orderId })) : err(Refused({ orderId }))
      ),
    });
    const pay = saga("pay", orderSchema).step("charge", {
      act: ({ input, emit }) => emit(Paid({ orderId: input.orderId, cents: 9 })),
    });
    const amends = await database.amends({ sagas: [order, pay], events: [accounts] });
    await database.worker(amends);
    const waiting = await amends.start(order, { orderId: "o-1" });
    await amends.start(pay, { orderId: "o-1" });
    expect(await waiting.result()).toMatchObject({ results: { ship: 9 } });
    await waitFor(async () => heard.length === 1);
  });

  it("[S-25][F-06] an event that a handler answers with reaches the saga that waits for it", async () => {
    const settle = handler("settle", {
      on: Paid,
      ok: Settled,
      err: Refused,
      handle: ({ orderId }) => ok(Settled({ orderId })),
    });
    const waiting = saga("waiting", orderSchema).waitFor("settled", {
      event: Settled,
      where: "orderId",
      equals: ({ input }) => input.orderId,
    });
    const amends = await database.amends({ sagas: [waiting], events: [settle] });
    await database.worker(amends);
    const run = await amends.start(waiting, { orderId: "o-1" });
    await amends.events.publish(Paid({ orderId: "o-1", cents: 1 }));
    expect(await run.result()).toMatchObject({ results: { settled: { orderId: "o-1" } } });
  });

  it("[S-25][F-03] a saga over events may have a step that is a saga of steps which waits for an event", async () => {
    const Placed = event("Placed", orderSchema);
    const Shipped = event("Shipped", orderSchema);
    const NotShipped = event("NotShipped", orderSchema);
    const shipping = sagaHandler("shipping", {
      on: Placed,
      ok: Shipped,
      err: NotShipped,
      saga: order,
      input: ({ orderId }) => ({ orderId }),
      completed: ({ orderId }) => Shipped({ orderId }),
      failed: ({ orderId }) => NotShipped({ orderId }),
    });
    const delivery = eventSaga("delivery", {
      trigger: Placed,
      correlate: "orderId",
      steps: [step("ship", shipping)],
      onCompleted: (orderId) => Settled({ orderId }),
      onFailed: (orderId) => Refused({ orderId }),
    });
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], events: [delivery], clock });
    await database.worker(amends);
    const [begun] = await amends.events.publish(Placed({ orderId: "o-1" }));
    await waitFor(async () => (await interests(database)) === 1);
    await amends.events.publish(Paid({ orderId: "o-1", cents: 3 }));
    const look = async () => (await clock.advance(1_000), amends.events.inspect(begun?.id ?? ""));
    await expect.poll(look, { timeout: 20_000 }).toMatchObject({ status: "completed" });
  });

  it("[S-25] a time limit that passes makes the saga compensate, and its interest ends with it", async () => {
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    const run = await amends.start(order, { orderId: "o-1" });
    await workOff(amends);
    expect(await interests(database)).toBe(1);
    clock.jump(3 * 86_400_000);
    await workOff(amends);
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      step: "payment",
      error: { kind: "deadline" },
    });
    expect(await interests(database)).toBe(0);
    await amends.events.publish(Paid({ orderId: "o-1", cents: 1 }));
    await workOff(amends);
  });

  it("[S-25][S-23] cancelling what has not begun ends its interest too", async () => {
    const amends = await database.amends({ sagas: [order], clock: virtualClock() });
    const run = await amends.start(order, { orderId: "o-1" });
    await run.cancel();
    expect(await interests(database)).toBe(0);
  });

  it("[S-25][S-18] a start that is refused leaves no interest with whoever has its id", async () => {
    const amends = await database.amends({ sagas: [order], clock: virtualClock() });
    await amends.start(order, { orderId: "o-1" }, { id: "same" });
    await amends.start(order, { orderId: "o-1" }, { id: "same" });
    await expect(amends.start(order, { orderId: "o-2" }, { id: "same" })).rejects.toMatchObject({
      code: "SAGA_CONFLICT",
    });
    expect(await interests(database)).toBe(1);
    await amends.events.publish(Paid({ orderId: "o-2", cents: 1 }));
    await workOff(amends);
    expect((await amends.inspect("same"))?.status).toBe("RUNNING");
  });

  it("[S-25] an event that can no longer be read as it was stored fails the step that waited for it", async () => {
    const Stricter = event("Paid", z.object({ orderId: z.string(), cents: z.number().min(100) }));
    const waits = {
      where: "orderId",
      equals: ({ input }: { input: { orderId: string } }) => input.orderId,
    } as const;
    const strict = saga("strict", orderSchema).waitFor("payment", { event: Stricter, ...waits });
    const loose = saga("loose", orderSchema).waitFor("payment", { event: Paid, ...waits });
    const run = await (await database.amends({ sagas: [strict] })).start(strict, { orderId: "o-1" });
    // A process that knows the event as it was delivers it, one that knows it as it is now takes it up.
    const older = await database.amends({ sagas: [loose] });
    await older.events.publish(Paid({ orderId: "o-1", cents: 1 }));
    await workOff(older);
    await workOff(await database.amends({ sagas: [strict] }));
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      error: { kind: "unfit", label: "UnreadableEvent" },
    });
  });

  it("[S-25][K-20] a saga that cannot say which event it waits for is not started", async () => {
    const vague = saga("vague", orderSchema).waitFor("payment", {
      event: Paid,
      where: "orderId",
      equals: ({ input }) => {
        if (input.orderId === "o-1") throw new Error("no such order");
        return input.orderId.repeat(100);
      },
    });
    const amends = await database.amends({ sagas: [vague] });
    for (const orderId of ["o-1", "o-2"])
      await expect(amends.start(vague, { orderId })).rejects.toMatchObject({ code: "BAD_INPUT" });
    expect(await interests(database)).toBe(0);
  });
});

it("[S-25][K-20] what a saga waits for is checked when it is defined and when it is started", async () => {
  expect(() =>
    saga("bad", orderSchema).waitFor("payment", { event: Paid, where: "", equals: () => "x" } as never),
  ).toThrow(/where/);
  expect(() => saga("bad", orderSchema).waitFor("payment", {} as never)).toThrow(/one of the two/);
  expect(() =>
    saga("bad", orderSchema).waitFor("payment", {
      event: Paid,
      where: "orderId",
      equals: ({ input }) => input.orderId,
      onTimeout: "continue",
    }),
  ).toThrow(/needs a `timeout`/);
});
