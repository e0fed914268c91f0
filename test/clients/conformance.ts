/** What holds for every client, on a real PostgreSQL. `npm test` runs the brief check, `npm run clients` all of them. */
import { saga } from "amends";
import { expect } from "vitest";
import { z } from "zod";
import { unwrapped } from "../../src/storage/joins/wrapped-error.ts";
import { makePlace } from "../support/places.ts";
import type { OpenClient, TestClient } from "./client.ts";
import { placeOrder, skuOf } from "./operations.ts";
import { NOTHING, ONE_ORDER, openShop, order, type Shop } from "./shop.ts";

export interface Check {
  readonly title: string;
  /** Part of `npm test`. */
  readonly brief?: boolean;
  run(client: TestClient): Promise<void>;
}

class Regret extends Error {}

/** In a transaction that is rolled back. */
async function regretted(shop: Shop, work: (tx: unknown) => Promise<unknown>): Promise<void> {
  const done = shop.client.transaction(async (tx) => {
    await work(tx);
    throw new Regret();
  });
  await expect(done).rejects.toThrow(Regret);
}

function times(count: number): Record<string, number> {
  return Object.fromEntries(Object.entries(ONE_ORDER).map(([name, rows]) => [name, rows * count]));
}

/** What each root handle is answered with: a code, and the words of what to do. */
async function refuseRoots({ amends, client }: Shop): Promise<void> {
  for (const [name, root] of Object.entries(await client.roots())) {
    const refused = [
      amends.start(order, { sku: "tea" }, { tx: root }),
      amends.webhooks.publish({ type: "order.placed", data: {} }, { tx: root }),
      amends.erasure.eraseSubject("user-1", [], { tx: root }),
    ];
    for (const one of await Promise.allSettled(refused)) {
      const answer = one.status === "rejected" ? String(one.reason) : "accepted";
      expect(`${name}: ${answer}`).toMatch(
        /AmendsError: .*(?:Pass the transaction: `|Begin one first|begin a transaction|must be a `pg` client)/,
      );
    }
  }
}

export const CHECKS: readonly Check[] = [
  {
    title:
      "[C-01][C-02][C-03] every operation commits and rolls back with the transaction; root handles are refused",
    brief: true,
    async run(client) {
      const shop = await openShop(client);
      await refuseRoots(shop);
      await regretted(shop, (tx) => placeOrder(shop, tx));
      expect(await shop.counts()).toEqual(NOTHING);
      await shop.client.transaction((tx) => placeOrder(shop, tx));
      expect(await shop.counts()).toEqual(ONE_ORDER);
    },
  },
  {
    title: "[C-03] texts with quotes, braces and backslashes arrive as they were sent",
    async run(client) {
      const shop = await openShop(client);
      await shop.client.transaction((tx) => placeOrder(shop, tx));
      const found = await shop.rows<{ payload: string }>(
        "select payload from amends.outbox where kind in ('delivery', 'call')",
      );
      const skus = found.map(({ payload }) => (JSON.parse(payload) as { sku: string }).sku);
      expect(skus.toSorted()).toEqual(["", skuOf(1), skuOf(1)].toSorted());
    },
  },
  {
    title: "[C-01] what is written in a savepoint that is rolled back does not exist, and the rest does",
    async run(client) {
      const shop = await openShop(client);
      await shop.client.transaction(async (tx) => {
        await placeOrder(shop, tx, 1);
        const inner = shop.client.nested(tx, async (nested) => {
          await placeOrder(shop, nested, 2);
          throw new Regret();
        });
        await expect(inner).rejects.toThrow(Regret);
        await shop.client.nested(tx, (nested) => placeOrder(shop, nested, 3));
      });
      expect(await shop.counts()).toEqual(times(2));
      expect(await shop.amends.inspect("order-2")).toBeUndefined();
    },
  },
  {
    title: "[C-01] transactions at the same time do not mix, on fewer connections than transactions",
    async run(client) {
      const shop = await openShop(client, { connections: 2 });
      const numbers = [1, 2, 3, 4, 5, 6];
      await Promise.all(
        numbers.map((n) =>
          n % 2 === 0
            ? regretted(shop, (tx) => placeOrder(shop, tx, n))
            : shop.client.transaction((tx) => placeOrder(shop, tx, n)),
        ),
      );
      expect(await shop.counts()).toEqual(times(3));
    },
  },
  {
    title: "[C-01] a pool of one connection is enough",
    async run(client) {
      const shop = await openShop(client, { connections: 1 });
      await shop.client.transaction((tx) => placeOrder(shop, tx));
      expect(await shop.counts()).toEqual(ONE_ORDER);
    },
  },
  {
    title: "[C-01] a statement of the application that fails in the middle leaves nothing behind",
    async run(client) {
      const shop = await openShop(client);
      await shop.client.transaction((tx) => shop.client.write(tx, "order 2"));
      const failed = shop.client.transaction(async (tx) => {
        await placeOrder(shop, tx, 1);
        await placeOrder(shop, tx, 2);
      });
      await expect(failed).rejects.toThrow(/notes|unique|duplicate|validation error/i);
      expect(await shop.counts()).toEqual({ ...NOTHING, notes: 1 });
    },
  },
  {
    title: "[C-03] the error of the database is found inside the error of the client",
    async run(client) {
      const shop = await openShop(client);
      const twice = shop.client.transaction(async (tx) => {
        await shop.client.write(tx, "one");
        await shop.client.write(tx, "one");
      });
      const error: unknown = await twice.catch((thrown: unknown) => thrown);
      expect(unwrapped(error)).toMatchObject({ code: "23505" });
    },
  },
  {
    title: "[C-01] an operation that Amends refuses leaves the transaction usable",
    async run(client) {
      const shop = await openShop(client);
      await shop.client.transaction(async (tx) => {
        await placeOrder(shop, tx);
        const again = shop.amends.start(order, { sku: "another" }, { id: "order-1", tx });
        await expect(again).rejects.toMatchObject({ code: "SAGA_CONFLICT" });
        const unknown = shop.amends.erasure.eraseSubject("user-1", [{ kind: "crm", value: "1" }], { tx });
        await expect(unknown).rejects.toMatchObject({ name: "AmendsError" });
      });
      expect(await shop.counts()).toEqual(ONE_ORDER);
    },
  },
  {
    title: "[C-01] the same operation again, in the same transaction or a later one, changes nothing",
    async run(client) {
      const shop = await openShop(client);
      const start = async (tx: unknown): Promise<boolean> =>
        (await shop.amends.start(order, { sku: "tea" }, { id: "o-1", tx })).created;
      const found = await shop.client.transaction(async (tx) => [await start(tx), await start(tx)]);
      expect([...found, await shop.client.transaction(start)]).toEqual([true, false, false]);
    },
  },
  {
    title: "[C-02] a transaction that has ended is refused in words, and nothing is written",
    async run(client) {
      const shop = await openShop(client, { connections: 1 });
      let ended: unknown;
      // What the check has learned of this transaction and its database does not let it pass later.
      await shop.client.transaction(async (tx) => {
        ended = tx;
        await shop.amends.start(order, { sku: "tea" }, { id: "o-0", tx });
      });
      const refused = [
        () => shop.amends.start(order, { sku: "tea" }, { id: "o-1", tx: ended }),
        () => shop.amends.webhooks.publish({ type: "order.placed", data: {} }, { tx: ended }),
        () => shop.amends.erasure.eraseSubject("user-1", [], { tx: ended }),
      ];
      for (const operation of refused)
        await expect(operation()).rejects.toMatchObject({
          code: "NEEDS_TRANSACTION",
          message: expect.stringContaining("Nothing was written") as string,
        });
      expect(await shop.counts()).toEqual({ ...NOTHING, sagas: 1 });
    },
  },
  {
    title: "[C-02] a transaction on another database is refused, and nothing is written",
    async run(client) {
      const shop = await openShop(client);
      const place = await makePlace("postgres", "migrated");
      const other = await client.open(place.at, 1);
      try {
        const started = other.transaction((tx) =>
          shop.amends.start(order, { sku: "tea" }, { id: "o-1", tx }),
        );
        await expect(started).rejects.toMatchObject({ code: "BAD_OPTION" });
      } finally {
        await other.close();
        await place.remove();
      }
      expect(await shop.counts()).toEqual(NOTHING);
    },
  },
  {
    title:
      "[C-01] a transactional step acts in a transaction of the client, which commits with its checkpoint",
    async run(client) {
      let tries = 0;
      const book = (open: OpenClient) =>
        saga("book", z.object({})).step("write", {
          transaction: open.kind,
          retry: { attempts: 3, base: "1ms" },
          async act({ tx }) {
            tries += 1;
            await open.write(tx, `try ${tries}`);
            await shop.amends.start(order, { sku: "tea" }, { id: `child-${tries}`, tx });
            if (tries === 1) throw new Regret();
          },
        });
      let defined: ReturnType<typeof book> | undefined;
      const shop = await openShop(client, { saga: (open) => (defined = book(open)) });
      const run = await shop.amends.start(defined as ReturnType<typeof book>, {}, { id: "b-1" });
      await shop.amends.worker({ poll: "20ms" }).start();
      expect(await run.result()).toMatchObject({ status: "COMPLETED" });
      expect(await shop.rows("select text from notes")).toEqual([{ text: "try 2" }]);
      expect(await shop.amends.inspect("child-1")).toBeUndefined();
      expect(await shop.amends.inspect("child-2")).toMatchObject({ id: "child-2" });
    },
  },
];
