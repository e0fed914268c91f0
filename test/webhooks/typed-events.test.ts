import { err, ok } from "amends";
import { event, eventSaga, handler, step } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";

const OrderPlaced = event("OrderPlaced", z.object({ orderId: z.string(), region: z.string().default("eu") }));
const OrderPaid = event("OrderPaid", z.object({ orderId: z.string(), cents: z.string().transform(BigInt) }));
const Refused = event("Refused", z.object({ orderId: z.string() }));
const Moved = event("Moved", z.object({ address: z.object({ street: z.string() }) }), {
  version: 2,
  upcast: (data) => ({ address: { street: (data as { street: string }).street } }),
});
const Moved1 = event("Moved", z.object({ street: z.string() }));

onEachDatabase((database) => {
  it("[F-22] each event becomes one webhook under its own id, with what was published as its data", async () => {
    const db = await database.open();
    const events = [OrderPlaced, { event: OrderPaid, type: "order.paid", attributes: ["orderId", "cents"] }];
    const amends = await database.amends({ database: db, webhooks: { events } });
    await database.worker(amends, { only: ["events"] });
    const placed = OrderPlaced({ orderId: "o-1" });
    const paid = OrderPaid({ orderId: "o-1", cents: "900" });
    await amends.events.publish([placed, paid]);
    const found = await until(async () => {
      const all = await Promise.all([placed, paid].map(({ id }) => amends.webhooks.event(id)));
      return all.every((one) => one !== undefined) && all;
    });
    const bodies = found.map((one) => JSON.parse(one?.payload ?? "") as Record<string, unknown>);
    expect(bodies).toEqual([
      { type: "OrderPlaced", timestamp: expect.any(String) as string, data: { orderId: "o-1" } },
      { type: "order.paid", timestamp: expect.any(String) as string, data: { orderId: "o-1", cents: "900" } },
    ]);
    // What is no text, number or boolean cannot be filtered by.
    expect(found.map((one) => one?.attributes)).toEqual([{}, { orderId: "o-1" }]);
  });

  it("[F-22][F-06] the events that a saga sends become webhooks, beside the handlers that take them", async () => {
    const db = await database.open();
    const pay = handler("pay", {
      on: OrderPlaced,
      ok: OrderPaid,
      err: Refused,
      handle: ({ orderId }) =>
        orderId === "" ? err(Refused({ orderId })) : ok(OrderPaid({ orderId, cents: "1" })),
    });
    const order = eventSaga("order", {
      trigger: OrderPlaced,
      correlate: "orderId",
      steps: [step("pay", pay)],
      onCompleted: (orderId) => Refused({ orderId }),
      onFailed: (orderId) => Refused({ orderId }),
    });
    const webhooks = { events: [OrderPlaced, OrderPaid] };
    const amends = await database.amends({ database: db, events: [order], webhooks });
    await database.worker(amends, { only: ["events"] });
    await amends.events.publish(OrderPlaced({ orderId: "o-1" }));
    const types = await until(async () => {
      const rows = await db.query(sql`select type from ${db.dialect.table("webhook_events")}`);
      return rows.length === 2 && rows.map((row) => row["type"] as string);
    });
    expect(types.toSorted()).toEqual(["OrderPaid", "OrderPlaced"]);
  });

  it("[F-22] an event of an older version is sent in the newest form", async () => {
    const db = await database.open();
    const old = await database.amends({ database: db, events: [] });
    const moved = Moved1({ street: "High Street" });
    await old.events.publish(moved);
    const amends = await database.amends({ database: db, webhooks: { events: [Moved] } });
    await database.worker(amends, { only: ["events"] });
    const stored = await until(() => amends.webhooks.event(moved.id));
    expect(JSON.parse(stored.payload)).toMatchObject({ data: { address: { street: "High Street" } } });
  });

  it("[F-22] the catalogue has each type with the JSON Schema of its data", async () => {
    const events = [OrderPlaced, { event: Moved, type: "customer.moved" }];
    const amends = await database.amends({ webhooks: { events } });
    expect(amends.webhooks.catalogue()).toMatchObject([
      { type: "OrderPlaced", event: "OrderPlaced", version: 1, schema: { required: ["orderId"] } },
      {
        type: "customer.moved",
        event: "Moved",
        version: 2,
        schema: { properties: { address: { type: "object" } } },
      },
    ]);
  });

  it("[F-22] what cannot be a webhook is refused with what is wrong", async () => {
    const made = (...events: unknown[]) => database.amends({ webhooks: { events: events as never } });
    await expect(made(OrderPlaced, OrderPlaced)).rejects.toThrow("webhooks.events lists OrderPlaced twice");
    await expect(made({ event: OrderPaid, type: "a" }, { event: Refused, type: "a" })).rejects.toThrow(
      "gives the type a to two events",
    );
    await expect(made("OrderPlaced")).rejects.toThrow("webhooks.events");
    await expect(made({ event: OrderPlaced, type: "amends.placed" })).rejects.toThrow("Amends' own");
    await expect(made({ event: OrderPlaced, filter: {} })).rejects.toThrow("there is no option named filter");
    await expect(made({ event: OrderPlaced, attributes: "orderId" })).rejects.toThrow("must be a list");
    const pay = handler("pay", {
      on: OrderPlaced,
      ok: OrderPaid,
      err: Refused,
      handle: ({ orderId }) => err(Refused({ orderId })),
    });
    const undoing = eventSaga("order", {
      trigger: OrderPlaced,
      correlate: "orderId",
      steps: [step("pay", pay, { compensation: Refused })],
      onCompleted: (orderId) => Refused({ orderId }),
      onFailed: (orderId) => Refused({ orderId }),
    });
    await expect(database.amends({ events: [undoing], webhooks: { events: [Refused] } })).rejects.toThrow(
      "so it cannot be a webhook as well",
    );
  });
});
