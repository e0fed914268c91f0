import fc from "fast-check";
import { expect, it } from "vitest";
import { wants } from "../../src/core/delivery/filter.ts";
import { raw, sql } from "../../src/storage/sql.ts";

import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { onEachForm, stage } from "./support/stage.ts";

onEachForm((database) => {
  checkInvariantsAfterEach(database);

  it("[W-15] the event and what it owes exist exactly if the caller's transaction commits", async () => {
    const { amends, db, subscribe, rows } = await stage(database);
    await subscribe("a");
    const { dialect } = db;
    await db.query(raw(`create table ${dialect.table("orders").text} (id text)`));
    const order = (id: string, end?: Error): Promise<void> =>
      db.transaction(async (session, tx) => {
        await session.query(sql`insert into ${dialect.table("orders")} (id) values (${id})`);
        await amends.webhooks.publish({ type: "order.placed", data: { id }, id }, { tx });
        if (end) throw end;
      });
    await expect(order("o-1", new Error("no"))).rejects.toThrow("no");
    expect([
      await rows("orders"),
      await rows("webhook_events"),
      await rows("webhook_delivery_sagas"),
    ]).toEqual([[], [], []]);
    await order("o-2");
    expect(await rows("webhook_events")).toMatchObject([{ event_key: "o-2" }]);
    expect(await rows("webhook_delivery_sagas")).toHaveLength(1);
  });

  it("[W-15] without a transaction the event and what it owes are durable when it resolves", async () => {
    const { amends, publisherDb, subscribe, rows } = await stage(database);
    await subscribe("a");
    const { id, created } = await amends.webhooks.publish({ type: "order.placed", data: {} });
    expect(created).toBe(true);
    expect(await rows("webhook_events")).toMatchObject([{ event_key: id }]);
    expect(await rows("webhook_delivery_sagas")).toHaveLength(1);
    expect(await amends.webhooks.publish({ type: "order.placed", data: {}, id })).toEqual({
      id,
      created: false,
    });
    const forgotten = publisherDb.transaction(
      () => amends.webhooks.publish({ type: "order.placed", data: {} }),
      true,
    );
    await expect(forgotten).rejects.toMatchObject({ code: "NEEDS_TRANSACTION" });
    expect(await rows("webhook_events")).toHaveLength(1);
  });

  it("[W-15] the same id again is the same event; another event under it is a conflict", async () => {
    const { publish, subscribe, rows } = await stage(database);
    await subscribe("a");
    await publish("order.placed", { id: "e-1", attributes: { region: "eu" } });
    await publish("order.placed", { id: "e-1", attributes: { region: "eu" } });
    for (const [type, more] of [
      ["order.paid", { id: "e-1", attributes: { region: "eu" } }],
      ["order.placed", { id: "e-1", attributes: { region: "us" } }],
      ["order.placed", { id: "e-1", attributes: { region: "eu" }, data: { n: 2 } }],
    ] as readonly [string, object][]) {
      await expect(publish(type, more)).rejects.toMatchObject({ code: "WEBHOOK_CONFLICT" });
    }
    expect(await rows("webhook_events")).toHaveLength(1);
    expect(await rows("webhook_delivery_sagas")).toHaveLength(1);
  });

  it("[W-15] an event goes to thousands of subscriptions in one statement", async () => {
    const { db, publish, rows, subscribe } = await stage(database);
    await subscribe("a");
    const { dialect } = db;
    const names =
      "url, status, events, filter, secrets, concurrency, interval_ms, ordered, created_at, updated_at";
    const series =
      database.name === "postgres"
        ? sql`generate_series(1, 3000) as n`
        : sql`(with recursive g(n) as (select 1 union all select n + 1 from g where n < 3000) select n from g) as n`;
    const subscriptions = dialect.table("webhook_subscriptions");
    await db.query(sql`insert into ${subscriptions} (${raw(names)})
      select ${raw(names)} from ${subscriptions} cross join ${series}`);
    await db.query(sql`insert into ${dialect.table("webhook_subscription_types")} (subscription_id, pattern)
      select id, '*' from ${subscriptions} where id > 1`);
    await publish();
    expect(await rows("webhook_delivery_sagas")).toHaveLength(3001);
  });

  it.each([
    ["an unknown type", { type: "order placed" }, "BAD_INPUT"],
    ["a type of Amends' own", { type: "amends.ping" }, "BAD_INPUT"],
    ["an id with a dot, which would spoil the signature", { id: "a.b" }, "BAD_ID"],
    ["an empty id", { id: "" }, "BAD_ID"],
    ["an id that is no header", { id: "a\nb" }, "BAD_ID"],
    ["data that is too large", { data: "x".repeat(300_000) }, "BAD_INPUT"],
    ["data that is no JSON", { data: { n: Number.NaN } }, "BAD_JSON"],
    ["an attribute that is no text", { attributes: { a: [] } }, "BAD_INPUT"],
    ["a time that is none", { occurredAt: new Date(Number.NaN) }, "BAD_INPUT"],
    ["a misspelt field", { payload: 1 }, "BAD_OPTION"],
  ])("[K-20] %s is refused, and nothing is written", async (_, wrong, code) => {
    const { publish, subscribe, rows } = await stage(database);
    await subscribe("a");
    await expect(publish("order.placed", wrong)).rejects.toMatchObject({ code });
    expect(await rows("webhook_events")).toEqual([]);
  });

  it("[W-19] the database routes as the rules say, whatever is subscribed to and published", async () => {
    const { amends, subscribe, publish, rows } = await stage(database);
    const word = fc.constantFrom("a", "b");
    const type = fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("."));
    const pattern = fc.oneof(
      fc.constant("*"),
      type,
      type.map((one) => `${one}.*`),
    );
    const filter = fc.dictionary(fc.constantFrom("x", "y"), fc.uniqueArray(word, { minLength: 1 }), {
      maxKeys: 2,
    });
    const attributes = fc.dictionary(fc.constantFrom("x", "y", "z"), word, { maxKeys: 3 });
    const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, seed: number): T[] =>
      fc.sample(arbitrary, { numRuns: count, seed });
    const wishes = sample(
      fc.record({ events: fc.uniqueArray(pattern, { minLength: 1, maxLength: 3 }), filter }),
      40,
      7,
    );
    for (const [index, wish] of wishes.entries()) await subscribe(`s${index}`, wish);
    const subscriptions = await amends.webhooks.subscriptions();
    for (const event of sample(fc.record({ type, attributes }), 25, 8)) {
      const before = (await rows("webhook_delivery_sagas")).length;
      await publish(event.type, { attributes: event.attributes });
      const routed = (await rows("webhook_delivery_sagas"))
        .slice(before)
        .map((row) => Number(row["subscription_id"]));
      const wanted = subscriptions.filter((one) => wants(one, event)).map(({ id }) => Number(id));
      expect([event, routed.toSorted((a, b) => a - b)]).toEqual([event, wanted.toSorted((a, b) => a - b)]);
    }
  });
});
