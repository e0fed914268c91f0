/** Synchronous transactions of SQLite: the operations of `amends.sync`. */
import { Amends, ok, saga, signal } from "amends";
import { defineCall } from "amends/calls";
import { event, handler } from "amends/events";
import { openSqlite, sqlite, type SqliteHandle } from "amends/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { onDatabase, type TestDatabase } from "../support/databases.ts";

const Order = z.object({ sku: z.string() });
const approved = signal("approved", Order);
const order = saga("order", Order).waitFor("approval", { signal: approved, timeout: "1d" });
const Placed = event("Placed", Order);
const Noted = event("Noted", Order);
const Refused = event("Refused", Order);
const note = handler("note", { on: Placed, ok: Noted, err: Refused, handle: (one) => ok(Noted(one)) });
const mail = defineCall("mail", { schema: Order, handle: () => undefined });

interface Shop {
  readonly amends: Amends<SqliteHandle>;
  readonly handle: SqliteHandle;
  /** A synchronous transaction, as better-sqlite3 has it. */
  transaction<T>(work: (tx: SqliteHandle) => T): T;
  /** How many sagas, signals, deliveries, calls and webhooks there are. */
  counts(): readonly number[];
}

async function openShop(database: TestDatabase): Promise<Shop> {
  await database.open();
  const place = await database.place();
  const handle = openSqlite(place);
  const amends = new Amends({
    database: sqlite(place),
    sagas: [order],
    events: [note],
    calls: [mail],
    webhooks: {},
  });
  onTestFinished(async () => {
    await amends.close();
    handle.close();
  });
  const count = (from: string): number => {
    const [row] = handle.prepare(`select count(*) as n from ${from}`).all() as { n: number }[];
    return Number(row?.n);
  };
  return {
    amends,
    handle,
    transaction(work) {
      handle.exec("begin immediate");
      try {
        const result = work(handle);
        handle.exec("commit");
        return result;
      } catch (error) {
        handle.exec("rollback");
        throw error;
      }
    },
    counts: () => [
      count("amends_saga_executions"),
      count("amends_saga_signals"),
      count("amends_outbox where kind = 'delivery'"),
      count("amends_outbox where kind = 'call'"),
      count("amends_webhook_events"),
    ],
  };
}

function placeOrder({ sync }: Amends<SqliteHandle>, tx: SqliteHandle): readonly unknown[] {
  const run = sync.start(order, { sku: "tea" }, { id: "o-1", tx });
  const again = sync.start(order, { sku: "tea" }, { id: "o-1", tx });
  return [
    run.created,
    again.created,
    sync.signal("o-1", approved, { sku: "tea" }, { id: "s-1", tx }),
    sync.signal("o-1", approved, { sku: "tea" }, { id: "s-1", tx }),
    sync.events.publish([Placed({ sku: "tea" }), Placed({ sku: "milk" })], { tx }).length,
    sync.calls.enqueue(mail, { sku: "tea" }, { id: "m-1", tx }).created,
    sync.webhooks.publish({ type: "order.placed", data: {}, id: "w-1" }, { tx }).created,
  ];
}

onDatabase("sqlite", (database) => {
  it("[C-01] every synchronous operation commits and rolls back with the transaction", async () => {
    const shop = await openShop(database);
    const regret = (): void =>
      shop.transaction((tx) => {
        placeOrder(shop.amends, tx);
        throw new Error("regret");
      });
    expect(regret).toThrow("regret");
    expect(shop.counts()).toEqual([0, 0, 0, 0, 0]);
    const answers = shop.transaction((tx) => placeOrder(shop.amends, tx));
    expect(answers).toEqual([true, false, true, false, 0, true, true]);
    expect(shop.counts()).toEqual([1, 1, 2, 1, 1]);
    await shop.amends.worker({ poll: "20ms" }).start();
    const run = await shop.amends.get(order, "o-1");
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[C-01] another input under the same id is a conflict, and the transaction goes on", async () => {
    const { amends, transaction, counts } = await openShop(database);
    transaction((tx) => {
      amends.sync.start(order, { sku: "tea" }, { id: "o-1", tx });
      const other = (): unknown => amends.sync.start(order, { sku: "milk" }, { id: "o-1", tx });
      expect(other).toThrow("A saga with this id exists with other input");
    });
    expect(counts()[0]).toBe(1);
  });

  it("[C-01][C-02] an asynchronous schema and a handle without a transaction are refused, and nothing is written", async () => {
    const { amends, handle, transaction, counts } = await openShop(database);
    const Late = z.object({ sku: z.string().refine(async () => true) });
    const late = saga("late", Late).step("one", { act: () => undefined });
    const lateMail = defineCall("late-mail", { schema: Late, handle: () => undefined });
    const lateSignal = signal("late", Late);
    amends.register(late);
    transaction((tx) => {
      const refused = [
        () => amends.sync.start(late, { sku: "tea" }, { tx }),
        () => amends.sync.signal("o-1", lateSignal, { sku: "tea" }, { tx }),
        () => amends.sync.calls.enqueue(lateMail, { sku: "tea" }, { tx }),
      ];
      for (const work of refused) expect(work).toThrow("has an asynchronous schema");
    });
    const outside = (): unknown => amends.sync.start(order, { sku: "tea" }, { tx: handle });
    expect(outside).toThrow("has no open transaction. Begin one first.");
    const without = (): unknown => amends.sync.start(order, { sku: "tea" }, {} as never);
    expect(without).toThrow("pass it as { tx }");
    expect(counts()).toEqual([0, 0, 0, 0, 0]);
  });
});

onDatabase("postgres", (database) => {
  it("[C-01] PostgreSQL has no synchronous transactions, and says so", async () => {
    const amends = await database.amends({ sagas: [order] });
    expect(() => amends.sync.start(order, { sku: "tea" }, { tx: {} })).toThrow(
      "`amends.sync` is for the synchronous transactions of SQLite",
    );
  });
});
