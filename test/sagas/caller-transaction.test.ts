import { Amends, saga } from "amends";
import { postgres } from "amends/postgres";
import { sqlite } from "amends/sqlite";
import { expect, it } from "vitest";
import { z } from "zod";
import { openSqlite } from "../../src/storage/sqlite/driver.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { applicationPool } from "../support/pool.ts";
import { caller, countIn } from "../support/caller.ts";
import { onlooker } from "./support/look.ts";

const order = saga("order", z.object({ sku: z.string() })).step("one", { act: ({ input }) => input.sku });
const tea = { sku: "tea" };

onEachDatabase((database) => {
  it("[S-19] a saga that is started in the caller's transaction exists once it commits, with the caller's rows", async () => {
    const amends = await database.amends({ sagas: [order] });
    const look = await onlooker(database);
    const own = await caller(database);
    await own.exec("create table orders (id text)");
    await own.exec("begin");
    await own.exec("insert into orders values ('o-1')");
    const run = await amends.start(order, tea, { id: "o-1", tx: own.tx });
    expect(run).toMatchObject({ id: "o-1", created: true });
    expect(await look.count()).toBe(0);
    await own.exec("commit");
    expect(await look.count()).toBe(1);
    expect(await own.count("orders")).toBe(1);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: "tea" } });
    await own.close();
  });

  it("[S-19] a rollback takes the saga along, and its id is free again", async () => {
    const amends = await database.amends({ sagas: [order] });
    const look = await onlooker(database);
    const own = await caller(database);
    await own.exec("begin");
    await amends.start(order, tea, { id: "o-1", tx: own.tx });
    await own.exec("rollback");
    expect(await look.count()).toBe(0);
    expect(await amends.worker().runOnce()).toBe(0);
    expect((await amends.start(order, { sku: "rice" }, { id: "o-1" })).created).toBe(true);
    await own.close();
  });

  it("[S-19] starting twice inside one transaction is one saga, and a conflict is told there too", async () => {
    const amends = await database.amends({ sagas: [order] });
    const own = await caller(database);
    await own.exec("begin");
    const started = { id: "o-1", tx: own.tx };
    expect((await amends.start(order, tea, started)).created).toBe(true);
    expect((await amends.start(order, tea, started)).created).toBe(false);
    await expect(amends.start(order, { sku: "rice" }, started)).rejects.toMatchObject({
      code: "SAGA_CONFLICT",
    });
    // The refusal is Amends' own: the caller's transaction can still commit.
    await own.exec("commit");
    expect(await (await onlooker(database)).count()).toBe(1);
    await own.close();
  });

  it("[S-19] bad input leaves the caller's transaction usable, and writes nothing", async () => {
    const amends = await database.amends({ sagas: [order] });
    const own = await caller(database);
    await own.exec("create table orders (id text)");
    await own.exec("begin");
    const wrong = { sku: 7 } as unknown as typeof tea;
    await expect(amends.start(order, wrong, { tx: own.tx })).rejects.toMatchObject({ code: "BAD_INPUT" });
    await own.exec("insert into orders values ('o-1')");
    await own.exec("commit");
    expect(await own.count("orders")).toBe(1);
    expect(await (await onlooker(database)).count()).toBe(0);
    await own.close();
  });
});

onDatabase("sqlite", (database) => {
  it("[S-19] a database made from the caller's handle waits while the caller's own transaction is open", async () => {
    const handle = openSqlite(await database.place());
    const amends = new Amends({ database: sqlite(handle), sagas: [order] });
    await amends.migrate();
    handle.exec("create table orders (id text)");
    handle.exec("begin");
    handle.exec("insert into orders values ('o-1')");
    await amends.start(order, tea, { id: "in", tx: handle });
    // Without `tx` it is no part of the transaction: it waits for its end instead of joining unasked.
    const outside = amends.start(order, tea, { id: "out" });
    handle.exec("rollback");
    await outside;
    expect(countIn(handle, "orders")).toBe(0);
    expect(await amends.inspect("in")).toBeUndefined();
    expect(await amends.inspect("out")).toMatchObject({ status: "PENDING" });
    handle.exec("begin");
    await amends.start(order, tea, { id: "in", tx: handle });
    handle.exec("commit");
    expect(await amends.worker().runOnce()).toBe(2);
    expect(await (await amends.get("in")).status()).toBe("COMPLETED");
    await amends.close();
    // The handle is the caller's: closing Amends leaves it open.
    expect(countIn(handle, "orders")).toBe(0);
    handle.close();
  });
});

onDatabase("postgres", (database) => {
  it("[S-19] a pool of the caller's serves both: Amends works on it, and its clients bring their transactions", async () => {
    const pool = applicationPool(await database.place(), 2);
    const amends = new Amends({ database: postgres({ pool }), sagas: [order] });
    await amends.migrate();
    const client = await pool.connect();
    await client.query("begin");
    await amends.start(order, tea, { id: "o-1", tx: client });
    await client.query("rollback");
    expect(await amends.inspect("o-1")).toBeUndefined();
    await client.query("begin");
    const run = await amends.start(order, tea, { id: "o-1", tx: client });
    await client.query("commit");
    client.release();
    const worker = amends.worker({ poll: "50ms" });
    await worker.start();
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: "tea" } });
    await amends.close();
    // The pool is the caller's: closing Amends leaves it open.
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });
});
