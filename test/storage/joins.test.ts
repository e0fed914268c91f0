/** A caller's transaction through a client that was chosen with `joins`. test/clients has the clients themselves. */
import { Amends, ok, saga } from "amends";
import { event, handler } from "amends/events";
import { kysely } from "amends/kysely";
import { postgres, transaction, type CarriedStatement, type Joins } from "amends/postgres";
import { sqlite } from "amends/sqlite";
import { typeorm } from "amends/typeorm";
import { Kysely, PostgresDialect } from "kysely";
import { createRequire } from "node:module";
import path from "node:path";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { Row } from "../../src/storage/database.ts";
import { TEXT_ARRAYS } from "../../src/storage/postgres/text-array.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { applicationPool } from "../support/pool.ts";

const Order = z.object({ sku: z.string() });
const order = saga("order", Order).step("one", { act: () => undefined });
const Placed = event("Placed", Order);
const Noted = event("Noted", Order);
const Refused = event("Refused", Order);
const note = handler("note", { on: Placed, ok: Noted, err: Refused, handle: (placed) => ok(Noted(placed)) });

/** The smallest client: a statement at a time on one connection, whose answers `change` makes. */
async function smallClient(
  database: TestDatabase,
  change: (row: Row) => Row = (row) => row,
): Promise<{ readonly joins: Joins<pg.Client>; readonly sent: CarriedStatement[]; readonly tx: pg.Client }> {
  await database.open();
  const tx = new pg.Client(await database.place());
  tx.on("error", () => undefined);
  await tx.connect();
  onTestFinished(() => tx.end());
  const sent: CarriedStatement[] = [];
  const joins: Joins<pg.Client> = {
    dialect: "postgres",
    client: "small",
    check: () => false,
    async query(client, statement) {
      sent.push(statement);
      return (await client.query<Row>(statement.text, [...statement.values])).rows.map(change);
    },
    async transaction(work) {
      await tx.query("begin");
      const result = await work(tx);
      await tx.query("commit");
      return result;
    },
  };
  return { joins, sent, tx };
}

/** A client of `pg` that was loaded a second time, as if it were installed twice. */
async function otherCopyOfPg(url: string): Promise<pg.Client> {
  const require = createRequire(import.meta.url);
  const isPg = (file: string): boolean => file.includes(`${path.sep}pg${path.sep}`);
  const loaded = Object.entries(require.cache).filter(([file]) => isPg(file));
  for (const [file] of loaded) delete require.cache[file];
  const copy = require("pg") as typeof pg;
  Object.assign(require.cache, Object.fromEntries(loaded));
  const client = new copy.Client(url);
  expect(client).not.toBeInstanceOf(pg.Client);
  client.on("error", () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

async function amendsWith<Tx>(database: TestDatabase, joins: Joins<Tx>): Promise<Amends<Tx>> {
  const db = postgres({ url: await database.place(), connections: 1, joins });
  const amends = new Amends({ database: db, sagas: [order], events: [note], webhooks: {} });
  onTestFinished(() => amends.close());
  return amends;
}

async function placeOrders<Tx>(amends: Amends<Tx>, tx: Tx): Promise<void> {
  await amends.start(order, { sku: 'a "b" \\ {c,d}' }, { id: "o-1", tx });
  await amends.start(order, { sku: 'a "b" \\ {c,d}' }, { id: "o-1", tx });
  await amends.events.publish([Placed({ sku: 'a "b" \\ {c,d}' }), Placed({ sku: "" })], { tx });
  await amends.webhooks.publish(
    { type: "order.placed", data: {}, id: "w-1", attributes: { a: 1, b: "2" } },
    { tx },
  );
}

onDatabase("postgres", (database) => {
  it("[C-03] a joined statement carries texts and nulls only, and casts them itself", async () => {
    const { joins, sent, tx } = await smallClient(database);
    const amends = await amendsWith(database, joins);
    await tx.query("begin");
    await placeOrders(amends, tx);
    await tx.query("commit");
    expect(sent.length).toBeGreaterThan(5);
    for (const { text, strings, values } of sent) {
      expect(values.filter((value) => value !== null && typeof value !== "string")).toEqual([]);
      expect(strings).toHaveLength(values.length + 1);
      expect(text).not.toMatch(/\$\d+::(?!text)/);
    }
    const { rows } = await tx.query<{ payload: string }>(
      "select payload from amends.outbox where kind = 'delivery'",
    );
    const skus = rows.map(({ payload }) => (JSON.parse(payload) as { sku: string }).sku);
    expect(skus.toSorted()).toEqual(["", 'a "b" \\ {c,d}']);
  });

  it("[C-03] a client of `pg` gets the statements of Amends' own connections, and what only looks like one gets texts", async () => {
    const { tx: client } = await smallClient(database);
    const copy = await otherCopyOfPg(await database.place());
    const amends = new Amends({ database: postgres(await database.place()), events: [note] });
    onTestFinished(() => amends.close());
    const skus = ['a "b" \\ {c,d}', ""];
    /** What the driver sends when two events are published through `tx`. */
    const publish = async (tx: pg.ClientBase, driver: pg.ClientBase): Promise<"texts" | "other values"> => {
      const sent: unknown[] = [];
      const { connection } = driver as unknown as {
        connection: { bind(config: { values?: unknown[] }): void };
      };
      const bind = connection.bind.bind(connection);
      connection.bind = (config) => {
        sent.push(...(config.values ?? []));
        bind(config);
      };
      await driver.query("begin");
      await amends.events.publish(
        skus.map((sku) => Placed({ sku })),
        { tx },
      );
      await driver.query("commit");
      connection.bind = bind;
      return sent.every((value) => value === null || typeof value === "string") ? "texts" : "other values";
    };
    const query = client.query.bind(client);
    const replaced = Object.assign(Object.create(client) as pg.Client, { query });
    const lookAlike = { query, getTransactionStatus: () => "T" } as unknown as pg.ClientBase;
    expect(await publish(client, client)).toBe("other values");
    expect(await publish(copy, copy)).toBe("other values");
    expect(await publish(replaced, client)).toBe("texts");
    expect(await publish(lookAlike, client)).toBe("texts");
    const { rows } = await client.query<{ payload: string }>("select payload from amends.outbox");
    const stored = rows.map(({ payload }) => (JSON.parse(payload) as { sku: string }).sku);
    expect(stored.toSorted()).toEqual([...skus, ...skus, ...skus, ...skus].toSorted());
  });

  it("[C-03] every text arrives as it was sent, with line breaks, quotes and signs of any alphabet", async () => {
    const { tx } = await smallClient(database);
    const texts = [
      "",
      " ",
      "null",
      "NULL",
      "{}",
      "a,b",
      '"',
      "\\",
      String.raw`\n`,
      String.raw`\u0041`,
      "\n",
      "\t\r",
      "\u007f\u0085",
      'line\n"two" \\',
      "\u2028",
      "grüße",
      "日本",
      "😀",
      '😀 "x" \\',
      "\ufeff",
      JSON.stringify({ a: '"\n' }),
    ];
    const arrive = async (type: "text" | "bigint", values: readonly unknown[]): Promise<unknown> => {
      const [before, after] = TEXT_ARRAYS.around(type);
      const text = `select (${before}$1${after})::text[] as all`;
      const { rows } = await tx.query<{ all: unknown }>(text, [
        TEXT_ARRAYS.encode(type, values, (one) => one),
      ]);
      return rows[0]?.all;
    };
    expect(await arrive("text", texts)).toEqual(texts);
    expect(await arrive("bigint", [1, null, 9_007_199_254_740_993n])).toEqual([
      "1",
      null,
      "9007199254740993",
    ]);
    // Nulls at the end are left out: they cost nothing, and `unnest` fills them in.
    expect(await arrive("text", [null, "NULL", null, null])).toEqual([null, "NULL"]);
    expect(await arrive("bigint", [null])).toEqual([]);
  });

  it("[C-03] an id with a comma is refused: it would make two elements of one", () => {
    const encode = (ids: readonly string[]): unknown => TEXT_ARRAYS.encode("bigint", ids, (id) => id);
    expect(encode(["1", "2"])).toBe("1,2");
    expect(() => encode(["1,2", "3"])).toThrow("must not contain a comma");
  });

  it("[C-03] rows with BigInts and with columns in another case are read like any others", async () => {
    const camel = (name: string): string =>
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const cases: readonly ((name: string) => string)[] = [
      camel,
      (name) => camel(`_${name}`),
      (name) => name.replaceAll("_", "-"),
      (name) => name.toUpperCase(),
    ];
    const value = (of: unknown): unknown => (typeof of === "string" && /^\d+$/.test(of) ? BigInt(of) : of);
    let renamed = camel;
    const { joins, tx } = await smallClient(database, (row) =>
      Object.fromEntries(Object.entries(row).map(([name, of]) => [renamed(name), value(of)])),
    );
    const amends = await amendsWith(database, joins);
    for (renamed of cases) {
      await tx.query("begin");
      await placeOrders(amends, tx);
      await tx.query("commit");
    }
    expect(await amends.inspect("o-1")).toMatchObject({ status: "PENDING" });
  });

  it("[C-03] nulls between texts stay nulls in a session that reads arrays without nulls", async () => {
    const { joins, tx } = await smallClient(database);
    const amends = await amendsWith(database, joins);
    await tx.query("begin");
    await tx.query("set local array_nulls = off");
    await amends.events.publish([Noted({ sku: "NULL" }), Placed({ sku: "null" }), Noted({ sku: "" })], {
      tx,
    });
    await tx.query("commit");
    const { rows } = await tx.query(
      "select name, kind, handler, lane, payload from amends.outbox order by entry_id",
    );
    expect(rows).toEqual([
      { name: "Noted", kind: "event", handler: null, lane: "", payload: '{"sku":"NULL"}' },
      { name: "Placed", kind: "delivery", handler: "note", lane: "note@1", payload: '{"sku":"null"}' },
      { name: "Noted", kind: "event", handler: null, lane: "", payload: '{"sku":""}' },
    ]);
  });

  it("[C-01][C-02] operations that run at once in one transaction find it open, and all of them take effect", async () => {
    const { joins, tx } = await smallClient(database);
    const amends = await amendsWith(database, joins);
    await tx.query("begin");
    await Promise.all([
      ...["o-1", "o-2", "o-3"].map((id) => amends.start(order, { sku: "tea" }, { id, tx })),
      amends.webhooks.publish({ type: "order.placed", data: {}, id: "w-1" }, { tx }),
    ]);
    await tx.query("commit");
    for (const id of ["o-1", "o-2", "o-3"]) expect(await amends.inspect(id)).toMatchObject({ id });
  });

  it("[C-02] a client that does not know whether a transaction is open is asked through the database", async () => {
    const { joins, tx } = await smallClient(database);
    const amends = await amendsWith(database, joins);
    const started = amends.start(order, { sku: "tea" }, { id: "o-1", tx });
    await expect(started).rejects.toMatchObject({
      code: "NEEDS_TRANSACTION",
      message: expect.stringContaining("Nothing was written") as unknown,
    });
    expect(await amends.inspect("o-1")).toBeUndefined();
  });

  it("[C-01][C-02] a saga started in a transaction of Kysely exists exactly if that commits", async () => {
    await database.open();
    const pool = applicationPool(await database.place(), 1);
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
    onTestFinished(() => db.destroy());
    const amends = await amendsWith(database, kysely(db));
    const work = db.transaction().execute(async (tx) => {
      await amends.start(order, { sku: "tea" }, { id: "o-1", tx });
      throw new Error("regret");
    });
    await expect(work).rejects.toThrow("regret");
    await db.transaction().execute((tx) => amends.start(order, { sku: "tea" }, { id: "o-2", tx }));
    expect([await amends.inspect("o-1"), (await amends.inspect("o-2"))?.id]).toEqual([undefined, "o-2"]);
    const root = amends.start(order, { sku: "tea" }, { tx: db as never });
    await expect(root).rejects.toThrow(
      "Pass the transaction: `db.transaction().execute((trx) => amends.start(saga, input, { id, tx: trx }))`",
    );
  });

  it("[C-01] a step or a handler that asks for another client's transaction is refused at registration", async () => {
    const { joins } = await smallClient(database);
    const url = await database.place();
    const ofPg = saga("book", Order).step("one", { transaction, act: () => undefined });
    const ofSmall = saga("book", Order).step("one", { transaction: joins, act: () => undefined });
    const onPg = handler("on-pg", {
      on: Placed,
      ok: Noted,
      err: Refused,
      transaction,
      handle: (one) => ok(Noted(one)),
    });
    const small = postgres({ url, joins });
    expect(() => new Amends({ database: small, sagas: [ofPg] })).toThrow(
      "Saga book, step one: it wants a transaction of pg, but Amends joins transactions of small.",
    );
    expect(() => new Amends({ database: small, events: [onPg] })).toThrow("wants a transaction of pg");
    expect(() => new Amends({ database: postgres(url), sagas: [ofSmall] })).toThrow(
      "wants a transaction of small, but Amends joins transactions of pg",
    );
    expect(() => new Amends({ database: sqlite(":memory:"), sagas: [ofSmall] })).toThrow(
      /wants a transaction of postgres \(small\), but Amends has sqlite\. In tests, pass `transaction` of amends\/sqlite/,
    );
    await small.close();
  });

  it("[C-01] a transactional step gets a transaction that the client has opened, committed with its checkpoint", async () => {
    const { joins, tx } = await smallClient(database);
    const seen: unknown[] = [];
    const book = saga("book", Order).step("one", {
      transaction: joins,
      async act({ tx: own }) {
        seen.push(own);
        await own.query("create table made_by_step ()");
      },
    });
    const db = postgres({ url: await database.place(), connections: 2, joins });
    const amends = new Amends({ database: db, sagas: [book] });
    onTestFinished(() => amends.close());
    await amends.worker().start();
    const run = await amends.start(book, { sku: "tea" }, { id: "b-1" });
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(seen).toEqual([tx]);
  });
});

it("[C-02] a QueryRunner of TypeORM is refused, and the message names its manager", () => {
  const runner = { manager: {}, isTransactionActive: true, isReleased: false, query: () => undefined };
  const joins = typeorm<object>({ manager: {} });
  expect(() => joins.check(runner)).toThrow("You passed a QueryRunner: pass its `manager`.");
  // A data source has a manager as well, and is no runner.
  expect(() => joins.check({ ...runner, transaction: () => undefined })).toThrow("dataSource.transaction(");
});
