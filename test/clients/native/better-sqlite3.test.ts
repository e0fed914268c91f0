/** better-sqlite3 and Drizzle over it, whose transactions are synchronous. `npm run clients` builds the library. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Amends, saga } from "amends";
import { defineCall } from "amends/calls";
import { drizzleSqlite } from "amends/drizzle";
import { sqlite, type Database } from "amends/sqlite";
import Sqlite from "better-sqlite3";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { expect, expectTypeOf, it, onTestFinished } from "vitest";
import { z } from "zod";
import { describeOn } from "../../support/databases.ts";

const Order = z.object({ sku: z.string() });
const order = saga("order", Order).step("one", { act: () => undefined });
const mail = defineCall("mail", { schema: Order, handle: () => undefined });
const notes = sqliteTable("notes", { text: text("text").primaryKey() });

function openFile(): Sqlite.Database {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-better-sqlite3-"));
  const db = new Sqlite(path.join(folder, "shop.db"));
  db.exec("create table notes (text text primary key)");
  onTestFinished(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return db;
}

/** A handle of Amends' own, of the same library. */
function ownHandle(db: Sqlite.Database): Sqlite.Database {
  const own = new Sqlite(db.name);
  onTestFinished(() => void own.close());
  return own;
}

async function openAmends<Tx>(database: Database<Tx>): Promise<Amends<Tx>> {
  const amends = new Amends({ database, sagas: [order], calls: [mail], webhooks: {} });
  await amends.migrate();
  onTestFinished(() => amends.close());
  return amends;
}

function counts(db: Sqlite.Database): unknown {
  return db
    .prepare(
      "select (select count(*) from notes) as notes, (select count(*) from amends_saga_executions) as sagas, (select count(*) from amends_outbox) as calls, (select count(*) from amends_webhook_events) as webhooks",
    )
    .get();
}

const NOTHING = { notes: 0, sagas: 0, calls: 0, webhooks: 0 };
const ONE = { notes: 1, sagas: 1, calls: 1, webhooks: 1 };

function placeOrder<Tx>({ sync }: Amends<Tx>, tx: Tx): void {
  sync.start(order, { sku: "tea" }, { id: "o-1", tx });
  sync.calls.enqueue(mail, { sku: "tea" }, { id: "m-1", tx });
  sync.webhooks.publish({ type: "order.placed", data: {}, id: "w-1" }, { tx });
}

describeOn("sqlite", () => {
  it("[C-01][C-02] better-sqlite3: the operations commit and roll back with `db.transaction(fn)`", async () => {
    const db = openFile();
    const amends = await openAmends(sqlite(db));
    const place = (isRegretted: boolean): void => {
      db.prepare("insert into notes values ('order')").run();
      placeOrder(amends, db);
      if (isRegretted) throw new Error("regret");
    };
    expect(() => db.transaction(place)(true)).toThrow("regret");
    expect(counts(db)).toEqual(NOTHING);
    db.transaction(place)(false);
    expect(counts(db)).toEqual(ONE);
    expect(() => amends.sync.start(order, { sku: "tea" }, { tx: db })).toThrow("has no open transaction");
    await amends.worker({ poll: "20ms" }).start();
    expect(await (await amends.get(order, "o-1")).result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[C-01][C-02] Drizzle over better-sqlite3: the operations commit and roll back with its transaction", async () => {
    const client = openFile();
    const db = drizzle({ client });
    const amends = await openAmends(sqlite(ownHandle(client), { joins: drizzleSqlite(db) }));
    type DrizzleTx = Parameters<Parameters<typeof db.transaction>[0]>[0];
    expectTypeOf(amends).toEqualTypeOf<Amends<DrizzleTx>>();
    const regretted = (): void =>
      db.transaction((tx) => {
        tx.insert(notes).values({ text: "order" }).run();
        placeOrder(amends, tx);
        tx.rollback();
      });
    expect(regretted).toThrow("Rollback");
    expect(counts(client)).toEqual(NOTHING);
    db.transaction((tx) => {
      tx.insert(notes).values({ text: "order" }).run();
      placeOrder(amends, tx);
    });
    expect(counts(client)).toEqual(ONE);
    const root = (): unknown => amends.sync.start(order, { sku: "tea" }, { tx: db as never });
    expect(root).toThrow("Pass the transaction: `db.transaction((tx) => amends.sync.start(");
    await expect(amends.start(order, { sku: "tea" }, { tx: db as never })).rejects.toMatchObject({
      code: "NEEDS_TRANSACTION",
    });
  });

  it("[C-01] a savepoint that is rolled back takes its saga with it", async () => {
    const client = openFile();
    const db = drizzle({ client });
    const amends = await openAmends(sqlite(ownHandle(client), { joins: drizzleSqlite(db) }));
    db.transaction((tx) => {
      amends.sync.start(order, { sku: "tea" }, { id: "o-1", tx });
      const inner = (): void =>
        tx.transaction((nested) => {
          amends.sync.start(order, { sku: "tea" }, { id: "o-2", tx: nested });
          throw new Error("regret");
        });
      expect(inner).toThrow("regret");
    });
    expect([(await amends.inspect("o-1"))?.id, await amends.inspect("o-2")]).toEqual(["o-1", undefined]);
  });
});
