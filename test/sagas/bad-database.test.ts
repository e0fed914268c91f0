import { Amends, saga, type Database } from "amends";
import { postgres } from "amends/postgres";
import { sqlite } from "amends/sqlite";
import { expect, it } from "vitest";
import { z } from "zod";
import { openSqlite } from "../../src/storage/sqlite/driver.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { onlooker } from "./support/look.ts";

const order = saga("order", z.object({})).step("one", { act: () => 1 });

async function nowhere(database: TestDatabase): Promise<Database> {
  const place = await database.place();
  if (database.name === "sqlite") return sqlite(`${place}-missing-folder/shop.db`);
  const url = new URL(place);
  url.port = "1";
  return postgres(url.href);
}

async function readOnly(database: TestDatabase): Promise<Database> {
  const place = await database.place();
  if (database.name === "postgres") {
    const options = "-c default_transaction_read_only=on";
    return postgres({ url: place, connection: { options } });
  }
  const handle = openSqlite(place);
  handle.exec("pragma query_only = on");
  return sqlite(handle);
}

onEachDatabase((database) => {
  it("[K-21] a database that is too new is refused by worker and migration, and says what to do", async () => {
    const look = await onlooker(database);
    await look.db.query(
      sql`insert into ${look.db.dialect.table("migrations")} (id, name, checksum, breaking, applied_at)
        values (9999, 'future', 'x', ${look.db.dialect.pick({ postgres: sql`true`, sqlite: sql`1` })}, ${look.db.dialect.now()})`,
    );
    const amends = await database.amends({
      sagas: [order],
      database: await database.open({ migrated: false }),
    });
    const refusal = {
      code: "SCHEMA_TOO_NEW",
      message: expect.stringContaining("Update the amends package") as unknown,
      details: { found: 9999 },
    };
    await expect(amends.migrate()).rejects.toMatchObject(refusal);
    await expect(amends.worker().start()).rejects.toMatchObject(refusal);
    await expect(amends.worker().runOnce()).rejects.toMatchObject(refusal);
    expect(amends.worker().running).toBe(false);
  });

  it("[K-21] a database without the tables is refused, and says what to do", async () => {
    const amends = await database.amends({
      sagas: [order],
      database: await database.open({ migrated: false }),
    });
    const refusal = {
      code: "SCHEMA_MISSING",
      message: expect.stringContaining("await amends.migrate()") as unknown,
    };
    await expect(amends.start(order, {})).rejects.toMatchObject(refusal);
    await expect(amends.worker().runOnce()).rejects.toMatchObject(refusal);
    await expect(amends.inspect("o-1")).rejects.toMatchObject(refusal);
    await amends.migrate();
    expect((await amends.start(order, {})).created).toBe(true);
    expect(await amends.worker().runOnce()).toBe(1);
  });

  it("[K-12] a database that cannot be reached is refused, and says what to do", async () => {
    const amends = new Amends({ database: await nowhere(database), sagas: [order] });
    const refusal = {
      code: "DATABASE_UNREACHABLE",
      message: expect.stringContaining(
        database.name === "postgres" ? "Check its address and that it runs" : "its folder does not exist",
      ) as unknown,
    };
    const calls = [amends.start(order, {}), amends.worker().start(), amends.migrate()];
    const refused = await Promise.allSettled(calls);
    expect(refused.map((one) => one.status === "rejected" && (one.reason as unknown))).toMatchObject([
      refusal,
      refusal,
      refusal,
    ]);
    await amends.close();
  });

  it("[K-12] a database that is read-only is refused, says what to do, and nothing is written", async () => {
    const look = await onlooker(database);
    const writer = await database.amends({ sagas: [order] });
    await writer.start(order, {}, { id: "before" });
    const amends = new Amends({ database: await readOnly(database), sagas: [order] });
    const refusal = {
      code: "DATABASE_READ_ONLY",
      message: expect.stringContaining("Connect to the primary") as unknown,
    };
    await expect(amends.start(order, {}, { id: "after" })).rejects.toMatchObject(refusal);
    await expect(amends.cancel("before", { reason: "x" })).rejects.toMatchObject(refusal);
    await expect(amends.worker().runOnce()).rejects.toMatchObject(refusal);
    expect(await look.count()).toBe(1);
    await amends.close();
    expect(await writer.worker().runOnce()).toBe(1);
  });

  it("[K-20] after it was closed, Amends says so", async () => {
    const amends = await database.amends({ sagas: [order] });
    await amends.close();
    await expect(amends.start(order, {})).rejects.toMatchObject({ code: "CLOSED" });
    await expect(amends.worker().start()).rejects.toMatchObject({ code: "CLOSED" });
  });
});
