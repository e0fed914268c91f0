import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { checkSchema, migrate } from "../../src/storage/migrations/migrate.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";

const one = saga("one", z.object({})).step("one", { act: () => 1 });

onEachDatabase((database) => {
  it("[K-21] migrations run in their order, once, and are named and checksummed", async () => {
    const db = await database.open({ migrated: false });
    const applied = await migrate(db);
    expect(applied.slice(0, 2)).toEqual(["sagas", "outbox"]);
    expect(await migrate(db)).toEqual([]);
    const rows = await db.query(
      sql`select id, name, checksum from ${db.dialect.table("migrations")} order by id`,
    );
    expect(rows.map((row) => row["name"])).toEqual(applied);
    rows.forEach((row, index) => expect(row["id"]).toBeGreaterThan(index));
    for (const row of rows) expect(row["checksum"]).toMatch(/^[0-9a-f]{32}$/);
    await checkSchema(db);
  });

  it("[K-21] eight that migrate at once apply each migration exactly once, and all succeed", async () => {
    await database.place();
    const handles = await Promise.all(Array.from({ length: 8 }, () => database.open({ migrated: false })));
    const applied = await Promise.all(handles.map((db) => migrate(db)));
    const [db] = handles as [(typeof handles)[number]];
    const rows = await db.query(sql`select name from ${db.dialect.table("migrations")} order by id`);
    expect(applied.flat()).toEqual(rows.map((row) => row["name"]));
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
  }, 60_000);

  it("[K-21] a migration that was changed after it ran is refused", async () => {
    const db = await database.open();
    await db.query(sql`update ${db.dialect.table("migrations")} set checksum = 'other' where id = 1`);
    await expect(migrate(db)).rejects.toMatchObject({ code: "MIGRATION_CHANGED", details: { id: 1 } });
  });

  it("[K-21] a migration of that number with another name is refused", async () => {
    const db = await database.open();
    await db.query(sql`update ${db.dialect.table("migrations")} set name = 'theirs' where id = 1`);
    await expect(migrate(db)).rejects.toMatchObject({ code: "MIGRATION_CHANGED" });
  });

  it("[K-21] a schema that is newer than this version is refused by the worker and by migrate", async () => {
    const db = await database.open();
    const { dialect } = db;
    await db.query(
      sql`insert into ${dialect.table("migrations")} values (99, 'later', 'x', ${dialect.now()})`,
    );
    const amends = await database.amends({ sagas: [one], database: db });
    const refusal = { code: "SCHEMA_TOO_NEW", details: { found: 99 } };
    const worker = amends.worker();
    await expect(worker.start()).rejects.toMatchObject(refusal);
    expect(worker.running).toBe(false);
    await expect(worker.runOnce()).rejects.toMatchObject(refusal);
    await expect(amends.migrate()).rejects.toMatchObject(refusal);
  });

  it("[K-21] a database without tables, or with older ones, is refused with the advice to migrate", async () => {
    const db = await database.open({ migrated: false });
    const amends = await database.amends({ sagas: [one], database: db });
    const refused = async (call: () => Promise<unknown>): Promise<void> =>
      expect(call()).rejects.toMatchObject({
        code: "SCHEMA_MISSING",
        message: expect.stringContaining("amends.migrate()") as string,
      });
    await refused(() => amends.worker().start());
    await refused(() => amends.start(one, {}));
    await refused(() => amends.inspect("x"));
    await amends.migrate();
    await db.query(sql`delete from ${db.dialect.table("migrations")} where id > 1`);
    await refused(() => amends.worker().start());
  });

  it("[K-21] a migration that fails half-way leaves nothing of itself", async () => {
    const db = await database.open({ migrated: false });
    // Somebody else's table is in the way of the second migration.
    const { dialect } = db;
    if (dialect.name === "postgres") await db.query(sql`create schema amends`);
    await db.query(sql`create table ${dialect.table("outbox")} (id integer)`);
    await expect(migrate(db)).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
    expect(await db.query(sql`select id from ${dialect.table("migrations")}`)).toEqual([]);
    await expect(db.query(sql`select id from ${dialect.table("saga_executions")}`)).rejects.toThrow(
      "saga_executions",
    );
    await db.query(sql`drop table ${dialect.table("outbox")}`);
    expect((await migrate(db)).slice(0, 2)).toEqual(["sagas", "outbox"]);
  });
});
