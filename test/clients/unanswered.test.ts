/** The check before a join has a limit: a client that never answers is refused in words, and nothing is written. */
import type { Joins } from "amends/postgres";
import { postgresJs } from "amends/postgres-js";
import pg from "pg";
import connect from "postgres";
import { expect, it, onTestFinished } from "vitest";
import { describeOn } from "../support/databases.ts";
import { testClient } from "./client.ts";
import { NOTHING, openShop, order, type Shop } from "./shop.ts";

const REFUSED = {
  code: "NEEDS_TRANSACTION",
  message: expect.stringMatching(/did not answer within 200 ms: it has ended.*Nothing was written/) as string,
};

/** Every kind of operation waits for the same check. */
async function refuseAll({ amends }: Shop, tx: unknown): Promise<void> {
  await expect(amends.start(order, { sku: "tea" }, { id: "o-1", tx })).rejects.toMatchObject(REFUSED);
  const published = amends.webhooks.publish({ type: "order.placed", data: {} }, { tx });
  await expect(published).rejects.toMatchObject(REFUSED);
  await expect(amends.erasure.eraseSubject("user-1", [], { tx })).rejects.toMatchObject(REFUSED);
}

/** A client whose transactions never answer. */
const silent: Joins<object> = {
  dialect: "postgres",
  client: "silent",
  check: () => false,
  query: () => new Promise(() => undefined),
  transaction: (work) => work({}),
};

describeOn("postgres", () => {
  it("[C-02] a client that never answers is refused within `callTimeout`, and nothing is written", async () => {
    const client = testClient("silent", async () => ({
      joins: silent,
      kind: silent,
      transaction: (work) => work({}),
      nested: (tx, work) => work(tx),
      write: async () => undefined,
      roots: async () => ({}),
      close: async () => undefined,
    }));
    const shop = await openShop(client, { callTimeout: "200ms" });
    await refuseAll(shop, {});
    expect(await shop.counts()).toEqual(NOTHING);
  });

  it("[C-02] postgres.js leaves an ended transaction unanswered while its connection is busy: it is refused within `callTimeout`", async () => {
    let url = "";
    const client = testClient("postgres.js", async (at) => {
      url = at;
      const sql = connect(at, { max: 1, onnotice: () => undefined });
      const joins = postgresJs(sql);
      return {
        joins,
        kind: joins,
        transaction: async <T>(work: (tx: connect.TransactionSql) => Promise<T>) =>
          (await sql.begin(async (tx) => [await work(tx)]))[0] as T,
        nested: (tx, work) => work(tx),
        write: async () => undefined,
        // The connection is busy until the lock is free.
        roots: async () => ({ busy: sql`select pg_advisory_lock(1)`.execute() }),
        close: () => sql.end({ timeout: 1 }),
      };
    });
    const shop = await openShop(client, { callTimeout: "200ms" });
    const holder = new pg.Client(url);
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query("select pg_advisory_lock(1)");
    let ended: unknown;
    await shop.client.transaction(async (tx) => {
      ended = tx;
    });
    const { busy } = await shop.client.roots();
    await refuseAll(shop, ended);
    await holder.query("select pg_advisory_unlock(1)");
    await busy;
    expect(await shop.counts()).toEqual(NOTHING);
  });
});
