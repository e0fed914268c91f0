/** Durable subscriptions: a registered handler gets every event of its type, whoever publishes it. */
import { err, ok, saga } from "amends";
import { consumer, event, eventSaga, handler, step } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { effect, effects, makeEffects, transactionOn } from "../sagas/support/effects-table.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { caller } from "../support/caller.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";
import { Billed, billing, listening, NotBilled, Paid } from "./support/services.ts";

const Ended = event("Ended", z.object({ order: z.string() }));

const orders = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `o-${from + index}`);

onEachDatabase((database) => {
  it("[F-19] an event reaches the handlers of every service, whoever publishes it", async () => {
    const [billed, shipped, noted]: string[][] = [[], [], []];
    const bill = await database.amends({ events: [billing("bill", billed as string[])] });
    const noteBilled = consumer("note", { on: Billed, handle: ({ order }) => void noted?.push(order) });
    const ship = await database.amends({ events: [listening("ship", shipped as string[]), noteBilled] });
    const other = await database.amends({ events: [] });
    await database.worker(bill);
    await database.worker(ship);
    await bill.events.publish(Paid({ order: "by bill" }));
    await ship.events.publish(Paid({ order: "by ship" }));
    await other.events.publish([Paid({ order: "by another" }), Paid({ order: "and again" })]);
    await waitFor(() => billed?.length === 4 && shipped?.length === 4 && noted?.length === 4);
    const all = ["and again", "by another", "by bill", "by ship"];
    // An answer of a handler, too, reaches a service that the handler does not know.
    for (const seen of [billed, shipped, noted]) expect(seen?.toSorted()).toEqual(all);
  });

  it("[F-19] an event in a caller's transaction, and one that a step emits, reach every service", async () => {
    const db = await database.open();
    const [billed, shipped]: [string[], string[]] = [[], []];
    const bill = await database.amends({ events: [billing("bill", billed)] });
    const ship = await database.amends({ events: [listening("ship", shipped)] });
    const emits = saga("emits", z.object({})).step("emit", {
      act: ({ emit }) => emit(Paid({ order: "of a step" })),
    });
    const other = await database.amends({ database: db, sagas: [emits], events: [] });
    for (const amends of [bill, ship, other]) await database.worker(amends);
    const { tx, exec, close } = await caller(database);
    await exec("begin");
    await other.events.publish(Paid({ order: "in a transaction" }), { tx });
    await bill.events.publish(Paid({ order: "of a service" }), { tx });
    await exec("commit");
    await close();
    await other.start(emits, {});
    await waitFor(() => billed.length === 3 && shipped.length === 3);
    const all = ["in a transaction", "of a service", "of a step"];
    expect([billed.toSorted(), shipped.toSorted()]).toEqual([all, all]);
  });

  it("[F-19] a deploy with a new handler gets the events from its registration on, also of older processes", async () => {
    const db = await database.open();
    const [old, fresh]: [string[], string[]] = [[], []];
    const before = await database.amends({ database: db, events: [listening("old", old)] });
    await database.worker(before);
    await before.events.publish(orders(1, 3).map((order) => Paid({ order })));
    await waitFor(() => old.length === 3);
    const after = await database.amends({ events: [listening("old", old), listening("new", fresh)] });
    await database.worker(after);
    await before.events.publish(orders(4, 6).map((order) => Paid({ order })));
    await waitFor(() => old.length === 6 && fresh.length === 3);
    expect(fresh.toSorted()).toEqual(orders(4, 6));
    expect(old.toSorted()).toEqual(orders(1, 6));
    expect((await sent(db)).filter((one) => one.startsWith("Paid > new"))).toHaveLength(3);
  });

  it("[F-19] a handler without a process loses nothing, and gets the events of one correlation in their order", async () => {
    const db = await database.open();
    const seen: string[] = [];
    const first = await database.amends({ events: [listening("ship", seen)] });
    const worker = await database.worker(first);
    await worker.stop({ deadline: "0s" });
    const publishers = [
      await database.amends({ database: db, events: [] }),
      await database.amends({ events: [billing("bill", [])] }),
    ];
    for (const [index, order] of orders(1, 12).entries())
      await publishers[index % 2]?.events.publish(Paid({ order }, { correlation: "one" }));
    const again = await database.amends({ events: [listening("ship", seen)] });
    await database.worker(again);
    await waitFor(() => seen.length === 12);
    expect(seen).toEqual(orders(1, 12));
  });

  it("[F-19][F-17] an event that is published by two processes under one id is handled once, whichever knows the handler", async () => {
    const db = await database.open();
    const seen: string[] = [];
    const ship = await database.amends({ database: db, events: [listening("ship", seen)] });
    await database.worker(ship);
    const other = await database.amends({ events: [] });
    const ids = orders(1, 20).map((order) => Paid({ order }));
    for (const one of ids) {
      await ship.events.publish(one);
      await other.events.publish(one);
    }
    await other.events.publish(ids);
    await waitFor(() => seen.length >= 20);
    await ship.events.publish(Paid({ order: "last" }));
    await waitFor(() => seen.includes("last"));
    expect(seen).toHaveLength(21);
    expect(await sent(db)).toHaveLength(21);
  });

  it("[F-19] a trigger that a process without the saga publishes begins a run, and goes on beside the other handlers", async () => {
    const [charged, shipped]: [string[], string[]] = [[], []];
    const charge = billing("charge", charged);
    const order = eventSaga("order", {
      trigger: Paid,
      correlate: "order",
      steps: [step("charge", charge)],
      onCompleted: (id) => Ended({ order: id }),
      onFailed: (id) => Ended({ order: id }),
    });
    const sagas = await database.amends({ events: [order] });
    const ship = await database.amends({ events: [listening("ship", shipped)] });
    // It has the step's handler, and does not know that it is one.
    const plain = await database.amends({ events: [billing("charge", [])] });
    const other = await database.amends({ events: [] });
    for (const amends of [sagas, ship]) await database.worker(amends);
    await other.events.publish(Paid({ order: "o-1" }));
    await plain.events.publish(Paid({ order: "o-2" }));
    await ship.events.publish(Paid({ order: "o-3" }));
    await sagas.events.publish(Paid({ order: "o-4" }));
    for (const id of orders(1, 4)) await runIn(sagas, order, id, "completed");
    await waitFor(() => shipped.length === 4);
    expect(charged.toSorted()).toEqual(orders(1, 4));
    expect(shipped.toSorted()).toEqual(orders(1, 4));
  });

  it("[F-19][F-05] a process that has a step's handler and not its saga records the result, and one with the saga applies it", async () => {
    const db = await database.open();
    await makeEffects(db);
    const calls: string[] = [];
    const charge = (name: string, kind?: ReturnType<typeof transactionOn>) =>
      handler(name, {
        on: Paid,
        ok: Billed,
        err: NotBilled,
        retry: { attempts: 1 },
        ...(kind && { transaction: kind }),
        handle: async ({ order }, context) => {
          calls.push(`${name} ${order}`);
          const { tx, outbox } = context as { tx: unknown; outbox: typeof context.outbox };
          outbox.append(Ended({ order: `beside ${order}` }));
          if (kind) await effect(tx, order);
          if (order === "throws") throw new Error("never");
          return order === "fails" ? err(NotBilled({ order })) : ok(Billed({ order }));
        },
      });
    for (const kind of [undefined, transactionOn(database.name)]) {
      const name = kind ? "charge-in-transaction" : "charge";
      const order = eventSaga(name, {
        trigger: Paid,
        correlate: "order",
        steps: [step("charge", charge(name, kind))],
        onCompleted: (id) => Ended({ order: id }),
        onFailed: (id) => Ended({ order: id }),
      });
      const sagas = await database.amends({ events: [order] });
      const plain = await database.amends({ database: db, events: [charge(name, kind)] });
      const registering = await database.worker(sagas);
      await registering.stop();
      await sagas.events.publish(["works", "fails", "throws"].map((id) => Paid({ order: id })));
      const working = await database.worker(plain);
      const recorded = sql`select count(*) as n from ${db.dialect.table("outbox")} where answer is not null and handler = ${name}`;
      await waitFor(async () => Number((await db.query(recorded))[0]?.["n"]) === 3);
      // Nothing has come of it yet: the runs wait, and no answer was published.
      for (const id of ["works", "fails", "throws"]) await runIn(sagas, order, id, "running");
      expect((await sent(db)).filter((one) => /^(?:Not)?Billed/.test(one))).toEqual([]);
      await working.stop();
      const applying = await database.worker(sagas);
      await runIn(sagas, order, "works", "completed");
      for (const id of ["fails", "throws"]) await runIn(sagas, order, id, "failed");
      await applying.stop();
      expect(calls.splice(0).toSorted()).toEqual(["fails", "throws", "works"].map((id) => `${name} ${id}`));
      expect(kind ? await effects(db) : ["works"]).toEqual(["works"]);
      await db.query(sql`delete from ${db.dialect.table("event_handlers")}`);
      await db.query(sql`delete from ${db.dialect.table("outbox")}`);
    }
  });

  it("[F-19][F-06] a process that has the handler of a command and not its saga records the result, and the undo goes on", async () => {
    const db = await database.open();
    const [left, undone]: [string[], string[]] = [[], []];
    const Undo = event("Undo", z.object({ order: z.string() }));
    const Undone = event("Undone", z.object({ order: z.string() }));
    const Shipped = event("Shipped", z.object({ order: z.string() }));
    const undo = handler("undo", {
      on: Undo,
      ok: Undone,
      err: NotBilled,
      handle: ({ order }) => {
        undone.push(order);
        return ok(Undone({ order }));
      },
    });
    const leaves = handler("undo", {
      on: Undo,
      ok: Undone,
      err: NotBilled,
      handle: ({ order }, { signal }) => {
        left.push(order);
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(new Error("stopped"))),
        );
      },
    });
    const fail = handler("fail", {
      on: Billed,
      ok: Shipped,
      err: NotBilled,
      handle: ({ order }) => err(NotBilled({ order })),
    });
    const order = eventSaga("order", {
      trigger: Paid,
      correlate: "order",
      steps: [step("charge", billing("charge", []), { compensation: Undo }), step("ship", fail)],
      onCompleted: (id) => Ended({ order: id }),
      onFailed: (id) => Ended({ order: id }),
    });
    const ids = orders(1, 3);
    const first = await database.amends({ events: [order, leaves] });
    const leaving = await database.worker(first);
    await first.events.publish(ids.map((id) => Paid({ order: id })));
    await waitFor(() => left.length === 3);
    await leaving.stop({ deadline: "0s" });
    const plain = await database.amends({ events: [undo] });
    const working = await database.worker(plain);
    const recorded = sql`select count(*) as n from ${db.dialect.table("outbox")} where answer is not null and handler = 'undo'`;
    await waitFor(async () => Number((await db.query(recorded))[0]?.["n"]) === 3);
    // Nothing has come of it yet.
    for (const id of ids) await runIn(first, order, id, "compensating");
    await working.stop();
    const last = await database.amends({ events: [order, leaves] });
    await database.worker(last);
    for (const id of ids) await runIn(last, order, id, "failed");
    expect(undone.toSorted()).toEqual(ids.toSorted());
    expect(left).toHaveLength(3);
  });

  it("[F-19] what a run sends reaches other services, with the process of its saga as its correlation", async () => {
    const seen: unknown[] = [];
    const order = eventSaga("order", {
      trigger: Paid,
      correlate: "order",
      steps: [step("charge", billing("charge", []))],
      onCompleted: (id) => Ended({ order: id }),
      onFailed: (id) => Ended({ order: id }),
    });
    const sagas = await database.amends({ events: [order] });
    const listener = await database.amends({
      events: [
        consumer("trigger", {
          on: Paid,
          handle: ({ type, order: id, correlation, id: own }) =>
            void seen.push([type, id, correlation === own]),
        }),
        consumer("ended", {
          on: Ended,
          handle: ({ type, order: id, correlation }) => void seen.push([type, id, correlation]),
        }),
      ],
    });
    for (const amends of [sagas, listener]) await database.worker(amends);
    await sagas.events.publish(Paid({ order: "o-1" }));
    await runIn(sagas, order, "o-1", "completed");
    await waitFor(() => seen.length === 2);
    expect(seen.map(String).toSorted()).toEqual(["Ended,o-1,o-1", "Paid,o-1,true"]);
  });

  it("[F-19] a consumer that waits for an event, and one that makes webhooks, are registered, too", async () => {
    const db = await database.open();
    const waits = saga("waits", z.object({ order: z.string() })).waitFor("paid", {
      event: Paid,
      where: "order",
      equals: ({ input }) => input.order,
      timeout: "1h",
    });
    const waiting = await database.amends({ database: db, sagas: [waits], events: [] });
    const hooks = await database.amends({ webhooks: { events: [Paid] } });
    const other = await database.amends({ events: [] });
    for (const amends of [waiting, hooks]) await database.worker(amends);
    const run = await waiting.start(waits, { order: "o-1" });
    await other.events.publish(Paid({ order: "o-1" }));
    expect((await run.result()).status).toBe("COMPLETED");
    await waitFor(async () => (await sent(db)).length === 2 && !(await sent(db)).join().includes("("));
    expect((await sent(db)).toSorted()).toEqual(["Paid > $waits.Paid", "Paid > $webhook.Paid"]);
  });

  it("[F-19] a handler of a newer version of the event waits for a process that reads it", async () => {
    const db = await database.open();
    const Paid2 = event("Paid", z.object({ order: z.string(), by: z.string() }), {
      version: 2,
      upcast: (data) => ({ ...(data as { order: string }), by: "card" }),
    });
    const seen: unknown[] = [];
    const older = await database.amends({ database: db, events: [listening("ship", seen as string[])] });
    await database.worker(older);
    const newer = await database.amends({ events: [] });
    await newer.events.publish(Paid2({ order: "o-1", by: "cash" }));
    await newer.events.publish(Paid({ order: "o-2" }));
    await waitFor(() => seen.length === 1);
    const reads = consumer("ship", {
      on: Paid2,
      handle: ({ order, by }) => void seen.push(`${order} ${by}`),
    });
    await database.worker(await database.amends({ events: [reads] }));
    await waitFor(() => seen.length === 2);
    expect(seen).toEqual(["o-2", "o-1 cash"]);
  });
});

onDatabase("postgres", (database) => {
  it("[F-19] a publisher's snapshot decides: one that is older than the registration does not see it, a younger one does", async () => {
    const db = await database.open();
    const seen: string[] = [];
    const bill = await database.amends({ events: [listening("bill", [])] });
    await database.worker(bill);
    const other = await database.amends({ database: db, events: [] });
    const [older, younger] = [await caller(database), await caller(database)];
    await older.exec("begin isolation level repeatable read");
    await older.exec("select 1 from amends.outbox");
    await younger.exec("begin");
    await younger.exec("select 1 from amends.outbox");
    await database.worker(await database.amends({ events: [listening("ship", seen)] }));
    await older.exec("select 1");
    await other.events.publish(Paid({ order: "older" }), { tx: older.tx });
    await other.events.publish(Paid({ order: "younger" }), { tx: younger.tx });
    for (const { exec, close } of [older, younger]) {
      await exec("commit");
      await close();
    }
    await other.events.publish(Paid({ order: "last" }));
    await waitFor(() => seen.length === 2);
    expect(seen.toSorted()).toEqual(["last", "younger"]);
    const table = db.dialect.table("outbox");
    const rows = await db.query(sql`select handler from ${table} where handler = 'ship'`);
    expect(rows).toHaveLength(2);
  });
});
