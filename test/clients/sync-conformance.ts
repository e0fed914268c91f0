/** What holds for every client with synchronous transactions, on SQLite in a file. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Amends, ok, saga, signal } from "amends";
import { defineCall } from "amends/calls";
import { dataMap } from "amends/erasure";
import { event, handler } from "amends/events";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import type { OpenSyncClient, SyncClient } from "./sync-client.ts";

const Order = z.object({ sku: z.string() });
const approved = signal("approved", Order);
const order = saga("order", Order).waitFor("approval", { signal: approved, timeout: "1d" });
const Late = z.object({ sku: z.string().refine(async () => true) });
const late = saga("late", Late).step("one", { act: () => undefined });
const Placed = event("Placed", Order);
const Noted = event("Noted", Order);
const Refused = event("Refused", Order);
const note = handler("note", { on: Placed, ok: Noted, err: Refused, handle: (one) => ok(Noted(one)) });
const mail = defineCall("mail", { schema: Order, handle: () => undefined });
const people = dataMap({
  users: { subject: "id", columns: { name: { category: "name", strategy: "anonymize" } } },
});

interface Shop {
  readonly amends: Amends<unknown, "name">;
  readonly client: OpenSyncClient;
  counts(): unknown;
}

const NOTHING = {
  notes: 0,
  sagas: 0,
  signals: 0,
  events: 0,
  calls: 0,
  schedules: 0,
  webhooks: 0,
  changed: 0,
};
const ONE_ORDER = {
  notes: 1,
  sagas: 1,
  signals: 1,
  events: 1,
  calls: 1,
  schedules: 1,
  webhooks: 1,
  changed: 2,
};

function newFile(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-sync-client-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, "shop.db");
}

async function openShop({ open }: SyncClient): Promise<Shop> {
  const client = open(newFile());
  const amends = new Amends({
    database: client.database,
    sagas: [order, late],
    events: [note],
    calls: [mail],
    webhooks: {},
    erasure: { dataMap: people },
  });
  await amends.migrate();
  onTestFinished(async () => {
    await amends.close({ deadline: "0s" });
    client.close();
  });
  const counts = (): unknown =>
    client.rows(`select
      (select count(*) from notes) as notes, (select count(*) from amends_saga_executions) as sagas,
      (select count(*) from amends_saga_signals) as signals,
      (select count(*) from amends_outbox where kind = 'delivery') as events,
      (select count(*) from amends_outbox where kind = 'call') as calls,
      (select count(*) from amends_schedules) as schedules,
      (select count(*) from amends_webhook_events) as webhooks,
      (select count(*) from users where name in ('erased', 'Right')) as changed`)[0];
  return { amends, client, counts };
}

/** An order, written by the application and handed to every part of Amends. */
function placeOrder({ amends: { sync }, client }: Shop, tx: unknown, n: 1 | 2 = 1): void {
  client.write(tx, `order ${n}`);
  sync.start(order, { sku: "tea" }, { id: `o-${n}`, tx });
  sync.signal(`o-${n}`, approved, { sku: "tea" }, { id: `s-${n}`, tx });
  sync.events.publish(Placed({ sku: "tea" }), { tx });
  sync.calls.enqueue(mail, { sku: "tea" }, { id: `m-${n}`, tx });
  const daily = { cron: "0 3 * * *", saga: order, input: { sku: "tea" } };
  sync.schedules.put(`daily-${n}`, daily, { tx });
  sync.schedules.put(`other-${n}`, daily, { tx });
  sync.schedules.remove(`other-${n}`, { reason: "a test", tx });
  sync.webhooks.publish({ type: "order.placed", data: {}, id: `w-${n}` }, { tx });
  sync.erasure.eraseSubject(n === 1 ? "ann" : "cleo", [], { tx });
  sync.erasure.rectifySubject(n === 1 ? "bob" : "dan", [{ category: "name", value: "Right" }], [], { tx });
}

function thrownBy(operation: () => unknown): string {
  try {
    operation();
    return "accepted";
  } catch (error) {
    return String(error);
  }
}

export interface SyncCheck {
  readonly title: string;
  run(client: SyncClient): Promise<void>;
}

export const SYNC_CHECKS: readonly SyncCheck[] = [
  {
    title: "[C-01] every synchronous operation commits and rolls back with the transaction",
    async run(test) {
      const shop = await openShop(test);
      const regretted = (): void =>
        shop.client.transaction((tx) => {
          placeOrder(shop, tx);
          throw new Error("regret");
        });
      expect(regretted).toThrow("regret");
      expect(shop.counts()).toEqual(NOTHING);
      shop.client.transaction((tx) => placeOrder(shop, tx));
      expect(shop.counts()).toEqual(ONE_ORDER);
      await shop.amends.worker({ poll: "20ms" }).start();
      expect(await (await shop.amends.get(order, "o-1")).result()).toMatchObject({ status: "COMPLETED" });
    },
  },
  {
    title:
      "[C-02] root handles and a transaction that has ended are refused in words, and nothing is written",
    async run(test) {
      const { amends, client, counts } = await openShop(test);
      let ended: unknown;
      client.transaction((tx) => {
        ended = tx;
      });
      for (const [name, tx] of Object.entries({ ...client.roots(), ended })) {
        const refused = [
          () => amends.sync.start(order, { sku: "tea" }, { tx }),
          () => amends.sync.webhooks.publish({ type: "order.placed", data: {} }, { tx }),
          () => amends.sync.erasure.eraseSubject("ann", [], { tx }),
        ];
        for (const operation of refused)
          expect(`${name}: ${thrownBy(operation)}`).toMatch(
            /AmendsError: .*(?:Pass the transaction: `|has no open transaction. Begin one first)/,
          );
        await expect(amends.start(order, { sku: "tea" }, { tx })).rejects.toMatchObject({
          code: "NEEDS_TRANSACTION",
        });
      }
      expect(counts()).toEqual(NOTHING);
    },
  },
  {
    title: "[C-01] what is written in a savepoint that is rolled back does not exist, and the rest does",
    async run(test) {
      const shop = await openShop(test);
      shop.client.transaction((tx) => {
        placeOrder(shop, tx, 1);
        const inner = (): void =>
          shop.client.nested(tx, (nested) => {
            placeOrder(shop, nested, 2);
            throw new Error("regret");
          });
        expect(inner).toThrow("regret");
      });
      expect(shop.counts()).toEqual(ONE_ORDER);
      expect(await shop.amends.inspect("o-2")).toBeUndefined();
    },
  },
  {
    title: "[C-01] a statement of the application that fails in the middle leaves nothing behind",
    async run(test) {
      const shop = await openShop(test);
      shop.client.transaction((tx) => shop.client.write(tx, "order 2"));
      const failed = (): void =>
        shop.client.transaction((tx) => {
          placeOrder(shop, tx, 1);
          placeOrder(shop, tx, 2);
        });
      expect(failed).toThrow(/UNIQUE constraint|insert into/);
      expect(shop.counts()).toEqual({ ...NOTHING, notes: 1 });
    },
  },
  {
    title: "[C-01] an operation that Amends refuses leaves the transaction usable",
    async run(test) {
      const shop = await openShop(test);
      const { sync } = shop.amends;
      shop.client.transaction((tx) => {
        placeOrder(shop, tx);
        expect(sync.start(order, { sku: "tea" }, { id: "o-1", tx }).created).toBe(false);
        expect(() => sync.start(order, { sku: "milk" }, { id: "o-1", tx })).toThrow(
          "exists with other input",
        );
        expect(() => sync.start(late, { sku: "tea" }, { tx })).toThrow("has an asynchronous schema");
        const unknown = (): unknown =>
          sync.erasure.eraseSubject("cleo", [{ kind: "crm", value: "1" }], { tx });
        expect(unknown).toThrow("crm");
      });
      expect(shop.counts()).toEqual(ONE_ORDER);
    },
  },
  {
    title: "[C-02] a transaction on another file is refused, and nothing is written",
    async run(test) {
      const { amends, counts } = await openShop(test);
      const other = test.open(newFile());
      onTestFinished(() => other.close());
      other.transaction((tx) => {
        const elsewhere = (): unknown => amends.sync.start(order, { sku: "tea" }, { tx });
        expect(elsewhere).toThrow(/is open on another file|is of another database/);
      });
      expect(counts()).toEqual(NOTHING);
    },
  },
];
