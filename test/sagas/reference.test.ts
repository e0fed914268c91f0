/** A saga is started by a reference where its definition is not loaded, and runs where it is. */
import { Amends, ok, saga, sagaRef, type AmendsError } from "amends";
import { event } from "amends/events";
import { MemorySagaStorage } from "amends/storage";
import { expect, it } from "vitest";
import { z } from "zod";
import { raw, sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";

const schema = z.object({ orderId: z.string() });
const Paid = event("Paid", z.object({ orderId: z.string(), cents: z.number() }));

const order = saga("order", schema)
  .step("reserve", {
    act: ({ input }) => ok({ seat: `seat of ${input.orderId}` }),
    compensate: () => undefined,
  })
  .step("charge", { act: ({ results }) => ok(`paid for ${results.reserve.seat}`) });
const orderRef = sagaRef("order", schema);

const shipment = saga("shipment", schema)
  .step("pack", { act: () => undefined })
  .waitFor("paid", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
  .step("ship", { act: ({ results }) => ok(results.paid.cents) });
const shipmentRef = sagaRef("shipment", schema).waitFor("paid", {
  event: Paid,
  where: "orderId",
  equals: ({ input }) => input.orderId,
});

onEachDatabase((database) => {
  it("[S-47] a process without the definition starts a saga, and a worker with it runs it to its end", async () => {
    const db = await database.open();
    const web = await database.amends({ database: db });
    const run = await web.start(orderRef, { orderId: "o-1" }, { id: "order-1" });
    expect(await web.inspect("order-1")).toMatchObject({ name: "order", version: 1, status: "PENDING" });
    const worker = await database.amends({ sagas: [order] });
    expect(await worker.worker().runOnce()).toBe(1);
    const outcome = await run.result();
    expect(outcome).toMatchObject({
      status: "COMPLETED",
      results: { reserve: { seat: "seat of o-1" }, charge: "paid for seat of o-1" },
    });
    // What the first claim recorded is what every later reader sees.
    const view = await web.inspect("order-1");
    expect(view?.plan.map(({ name }) => name)).toEqual(["reserve", "charge"]);
  });

  it("[S-47] the same id again is the same saga, by the reference or by the definition", async () => {
    const db = await database.open();
    const web = await database.amends({ database: db });
    await web.start(orderRef, { orderId: "o-1" }, { id: "order-1" });
    await web.start(orderRef, { orderId: "o-1" }, { id: "order-1" });
    const other = web.start(orderRef, { orderId: "o-2" }, { id: "order-1" });
    await expect(other).rejects.toMatchObject({ code: "SAGA_CONFLICT" });
    const worker = await database.amends({ sagas: [order] });
    const run = await worker.start(order, { orderId: "o-1" }, { id: "order-1" });
    expect(await worker.worker().runOnce()).toBe(1);
    expect((await run.result()).status).toBe("COMPLETED");
    expect((await (await web.get(orderRef, "order-1")).result()).status).toBe("COMPLETED");
  });

  it("[S-47] in the caller's transaction it exists exactly if that commits", async () => {
    const db = await database.open();
    const web = await database.amends({ database: db });
    const rolledBack = db.transaction(async (_session, tx) => {
      await web.start(orderRef, { orderId: "o-1" }, { id: "order-1", tx });
      throw new Error("rolled back");
    });
    await expect(rolledBack).rejects.toThrow("rolled back");
    expect(await web.inspect("order-1")).toBeUndefined();
    await db.transaction((_session, tx) =>
      web.start(orderRef, { orderId: "o-1" }, { id: "order-1", tx }).then(() => undefined),
    );
    expect((await web.inspect("order-1"))?.status).toBe("PENDING");
  });

  it("[S-47] a reference to a registered saga is that saga: it runs at once", async () => {
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends, { poll: "1h" });
    const run = await amends.start(orderRef, { orderId: "o-1" });
    expect((await run.result()).status).toBe("COMPLETED");
    expect(amends.counters.claimed).toBe(0);
  });

  it("[S-47] a saga that is cancelled before any worker had it ends without a call", async () => {
    const db = await database.open();
    const web = await database.amends({ database: db });
    await web.start(orderRef, { orderId: "o-1" }, { id: "order-1" });
    await web.cancel("order-1", { reason: "sold out" });
    const worker = await database.amends({ sagas: [order] });
    while ((await worker.worker().runOnce()) > 0);
    const view = await web.inspect("order-1");
    expect(view?.status).toBe("FAILED");
    expect(view?.timeline.some(({ step }) => step === "reserve")).toBe(false);
  });

  it("[S-47] an event that is published before any worker knew the saga reaches its wait", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const web = await database.amends({ database: db, events: [] });
    await web.start(shipmentRef, { orderId: "o-1" }, { id: "shipment-1" });
    await web.events.publish(Paid({ orderId: "o-1", cents: 5 }));
    await web.events.publish(Paid({ orderId: "o-2", cents: 7 }));
    const worker = await database.amends({ database: db, sagas: [shipment], events: [] });
    for (let n = 0; n < 5; n++) {
      await worker.worker().runOnce();
      await clock.advance(1_000);
    }
    expect(await web.inspect("shipment-1")).toMatchObject({ status: "COMPLETED" });
    const outcome = await (await web.get("shipment-1")).result();
    expect(outcome).toMatchObject({ results: { ship: 5 } });
  });

  it("[S-47] workers of another version leave it alone", async () => {
    const db = await database.open();
    const web = await database.amends({ database: db });
    await web.start(sagaRef("order", schema, { version: 2 }), { orderId: "o-1" }, { id: "order-1" });
    const worker = await database.amends({ database: db, sagas: [order] });
    expect(await worker.worker().runOnce()).toBe(0);
    expect((await web.inspect("order-1"))?.status).toBe("PENDING");
  });

  it("[S-47] the deadline of the definition counts from the start, not from the first claim", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const web = await database.amends({ database: db });
    await web.start(sagaRef("late", schema), { orderId: "o-1" }, { id: "late-1" });
    await clock.advance(120_000);
    const calls: string[] = [];
    const late = saga("late", schema, { deadline: "60s" }).step("one", {
      act: () => void calls.push("one"),
    });
    const worker = await database.amends({ database: db, sagas: [late] });
    while ((await worker.worker().runOnce()) > 0);
    expect((await web.inspect("late-1"))?.status).toBe("FAILED");
    expect(calls).toEqual([]);
    // The row keeps it, for whichever worker claims the saga next.
    const { dialect } = db;
    const spanMs = sql`${dialect.epochMs(raw("deadline_at"))} - ${dialect.epochMs(raw("created_at"))}`;
    const [row] = await db.query(sql`select ${spanMs} as span from ${dialect.table("saga_executions")}`);
    expect(Number(row?.["span"])).toBe(60_000);
  });
});

it("[S-47] input that does not fit, and a storage of one's own, are refused", async () => {
  const amends = new Amends({ storage: new MemorySagaStorage(), sagas: [] });
  const refused = await amends.start(orderRef, { orderId: "o-1" }).catch((error: AmendsError) => error);
  expect(refused).toMatchObject({ code: "NOT_SUPPORTED" });
  expect(() => sagaRef("order", schema, { versoin: 2 } as never)).toThrow(/no option named versoin/);
});
