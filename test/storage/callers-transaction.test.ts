/** What is given as `tx` and is no open transaction of this database is refused, before anything is written. */
import { Amends, saga } from "amends";
import { defineCall } from "amends/calls";
import { postgres } from "amends/postgres";
import { openSqlite } from "amends/sqlite";
import pg from "pg";
import { expect, it } from "vitest";
import { z } from "zod";
import { raw } from "../../src/storage/sql.ts";
import { makePlace } from "../support/places.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { applicationPool } from "../support/pool.ts";

const order = saga("order", z.object({})).step("one", { act: () => undefined });
const mail = defineCall("mail", { schema: z.object({}), handle: () => undefined });

/** Starts and enqueues with this `tx`: the codes of the refusals, and how many rows there are afterwards. */
async function refusals(database: TestDatabase, tx: unknown): Promise<readonly unknown[]> {
  const db = await database.open();
  const amends = await database.amends({ database: db, sagas: [order], calls: [mail] });
  const codes: unknown[] = [];
  const note = (error: { readonly code?: unknown }): void => void codes.push(error.code);
  for (const work of [() => amends.start(order, {}, { tx }), () => amends.calls.enqueue(mail, {}, { tx })])
    await work().then(() => codes.push("accepted"), note);
  const table = (name: string): string => db.dialect.table(name).text;
  const counts = `select (select count(*) from ${table("saga_executions")}) + (select count(*) from ${table("outbox")}) as found`;
  const [row] = await db.query(raw(counts));
  return [...codes, Number(row?.["found"])];
}

onDatabase("postgres", (database) => {
  /** A client with an open transaction, on this test's database or another one. It is rolled back at the end. */
  async function within<T>(work: (client: pg.Client) => Promise<T>, url?: string): Promise<T> {
    const client = new pg.Client(url ?? (await database.place()));
    await client.connect();
    try {
      await client.query("begin");
      return await work(client);
    } finally {
      await client.end();
    }
  }

  async function withPool<T>(max: number, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
    const pool = applicationPool(await database.place(), max);
    try {
      return await work(pool);
    } finally {
      await pool.end();
    }
  }

  it("[K-20][C-02] a pool is refused: each of its statements would commit by itself", async () => {
    await database.open();
    const found = await withPool(2, (pool) => refusals(database, pool));
    expect(found).toEqual(["BAD_OPTION", "BAD_OPTION", 0]);
  });

  it("[K-20][C-02] an object that passes statements on to a pool has no open transaction", async () => {
    await database.open();
    const found = await withPool(2, (pool) =>
      refusals(database, {
        query: (text: string, values: unknown[]) => pool.query<object>(text, values),
      }),
    );
    expect(found).toEqual(["NEEDS_TRANSACTION", "NEEDS_TRANSACTION", 0]);
  });

  it("[K-20] a client that answers in another form than pg is refused in its transaction", async () => {
    await database.open();
    const found = await within((client) =>
      refusals(database, {
        query: async (text: string, values: unknown[]) => (await client.query<object>(text, values)).rows,
      }),
    );
    expect(found).toEqual(["BAD_OPTION", "BAD_OPTION", 0]);
  });

  it("[K-20] an object that passes statements on to a client with a transaction works", async () => {
    await database.open();
    const found = await within((client) =>
      refusals(database, {
        query: (text: string, values: unknown[]) => client.query(text, values),
      }),
    );
    expect(found).toEqual(["accepted", "accepted", 0]);
  });

  it("[K-20][C-02] a client of another database is refused, whether or not that has tables of Amends", async () => {
    await database.open();
    for (const [content, code] of [
      ["migrated", "BAD_OPTION"],
      ["empty", "SCHEMA_MISSING"],
    ] as const) {
      const other = await makePlace("postgres", content);
      const found = await within((client) => refusals(database, client), other.at);
      await other.remove();
      expect(found).toEqual([code, code, 0]);
    }
  });

  it("[K-20] a client whose session has another time zone is connected to the same database all the same", async () => {
    await database.open();
    const found = await within(async (client) => {
      await client.query("set time zone 'Asia/Kathmandu'");
      return refusals(database, client);
    });
    expect(found).toEqual(["accepted", "accepted", 0]);
  });

  it("[K-20] a client is accepted while Amends has no connection of its own to compare it with", async () => {
    await database.open();
    const amends = new Amends({ database: postgres("postgres://127.0.0.1:1/nowhere"), sagas: [order] });
    const run = await within((client) => amends.start(order, {}, { id: "o-1", tx: client }));
    expect(run.id).toBe("o-1");
    await amends.close();
  });

  it("[K-20] a client from a pool of the caller's that has no other connection is accepted", async () => {
    await database.open();
    await withPool(1, async (pool) => {
      const amends = new Amends({ database: postgres({ pool }), sagas: [order] });
      const client = await pool.connect();
      await client.query("begin");
      await amends.start(order, {}, { id: "o-1", tx: client });
      await client.query("commit");
      client.release();
      expect((await amends.inspect("o-1"))?.status).toBe("PENDING");
    });
  });
});

onDatabase("sqlite", (database) => {
  it("[K-20] a handle on another file is refused", async () => {
    await database.open();
    const other = await makePlace("sqlite", "empty");
    const handle = openSqlite(other.at);
    handle.exec("begin");
    expect(await refusals(database, handle)).toEqual(["BAD_OPTION", "BAD_OPTION", 0]);
    handle.exec("commit");
    handle.close();
    await other.remove();
  });
});
