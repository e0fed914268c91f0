import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Database, Dialect } from "../../src/storage/database.ts";
import { checkSchema, migrate, readMigrations } from "../../src/storage/migrations/migrate.ts";
import { MIGRATIONS, type Migration } from "../../src/storage/migrations/migration.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { loginAs } from "../webhooks/support/logins.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";

const one = saga("one", z.object({})).step("one", { act: () => 1 });

/** Three migrations of a program that has grown: a table, a column, and rows that need both. */
const GROWN: readonly Migration[] = [
  {
    id: 1,
    name: "pets",
    statements: (dialect) => [`create table ${nameOf(dialect, "pets")} (id integer primary key)`],
  },
  {
    id: 2,
    name: "names",
    statements: (dialect) => [`alter table ${nameOf(dialect, "pets")} add column name text`],
  },
  {
    id: 3,
    name: "first pets",
    statements: (dialect) => [
      `insert into ${nameOf(dialect, "pets")} (id, name) values (1, 'Rex')`,
      `insert into ${nameOf(dialect, "pets")} (id, name) values (2, 'Ada')`,
    ],
  },
];

function nameOf(dialect: Dialect, table: string): string {
  return dialect.table(table).text;
}

async function pets(db: Database): Promise<readonly unknown[]> {
  const rows = await db.query(sql`select name from ${db.dialect.table("pets")} order by id`);
  return rows.map((row) => row["name"]);
}

/** A migration of a version to come. */
async function later(db: Database, isBreaking: boolean): Promise<void> {
  const { dialect } = db;
  const breaking = dialect.pick({ postgres: String(isBreaking), sqlite: isBreaking ? "1" : "0" });
  await db.query(
    sql`insert into ${dialect.table("migrations")} (id, name, checksum, breaking, applied_at)
      values (99, 'later', 'x', ${raw(breaking)}, ${dialect.now()})`,
  );
}

onEachDatabase((database) => {
  it("[K-21] migrations run in their order, once, and are named and checksummed", async () => {
    const db = await database.open({ migrated: false });
    expect(await migrate(db, {}, GROWN)).toEqual(["pets", "names", "first pets"]);
    expect(await migrate(db, {}, GROWN)).toEqual([]);
    expect(await pets(db)).toEqual(["Rex", "Ada"]);
    const rows = await db.query(
      sql`select id, name, checksum from ${db.dialect.table("migrations")} order by id`,
    );
    expect(rows.map((row) => [row["id"], row["name"]])).toEqual(GROWN.map(({ id, name }) => [id, name]));
    for (const row of rows) expect(row["checksum"]).toMatch(/^[0-9a-f]{32}$/);
    await checkSchema(db, GROWN);
  });

  it("[K-21] the first migration makes every table, and is all that there is to apply", async () => {
    const db = await database.open({ migrated: false });
    expect((await readMigrations(db)).missing.map(({ name }) => name)).toEqual(["initial"]);
    expect(await migrate(db)).toEqual(["initial"]);
    expect(await readMigrations(db)).toEqual({ applied: ["initial"], missing: [] });
    expect(MIGRATIONS.map(({ id }) => id)).toEqual([1]);
    await checkSchema(db);
  });

  it("[K-21] a database that has some of the migrations gets the others, and a worker refuses it until then", async () => {
    const db = await database.open({ migrated: false });
    await migrate(db, {}, GROWN.slice(0, 1));
    await expect(checkSchema(db, GROWN)).rejects.toMatchObject({ code: "SCHEMA_MISSING" });
    expect(await readMigrations(db, GROWN)).toMatchObject({
      applied: ["pets"],
      missing: [{ name: "names" }, { name: "first pets" }],
    });
    expect(await migrate(db, {}, GROWN)).toEqual(["names", "first pets"]);
    expect(await pets(db)).toEqual(["Rex", "Ada"]);
    await checkSchema(db, GROWN);
  });

  it("[K-21] eight that migrate at once apply each migration exactly once, and all succeed", async () => {
    await database.place();
    const handles = await Promise.all(Array.from({ length: 8 }, () => database.open({ migrated: false })));
    const applied = await Promise.all(handles.map((db) => migrate(db, {}, GROWN)));
    const [db] = handles as [(typeof handles)[number]];
    expect(applied.flat()).toEqual(GROWN.map(({ name }) => name));
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    expect(await pets(db)).toEqual(["Rex", "Ada"]);
  }, 60_000);

  it("[K-21] eight that make the first schema at once make it exactly once, and all succeed", async () => {
    await database.place();
    const handles = await Promise.all(Array.from({ length: 8 }, () => database.open({ migrated: false })));
    const applied = await Promise.all(handles.map((db) => migrate(db)));
    expect(applied.flat()).toEqual(["initial"]);
    await checkSchema(handles[0] as Database);
  }, 60_000);

  it("[K-21] of several migrations, the one that was changed after it ran is named", async () => {
    const db = await database.open({ migrated: false });
    await migrate(db, {}, GROWN);
    const changed = GROWN.map((made) => (made.id === 2 ? { ...made, statements: () => ["select 1"] } : made));
    await expect(migrate(db, {}, changed)).rejects.toMatchObject({
      code: "MIGRATION_CHANGED",
      details: { id: 2 },
    });
  });

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

  it("[K-21] a schema with a breaking migration that this version does not know is refused by the worker and by migrate", async () => {
    const db = await database.open();
    await later(db, true);
    const amends = await database.amends({ sagas: [one], database: db });
    const refusal = { code: "SCHEMA_TOO_NEW", details: { found: 99 } };
    const worker = amends.worker();
    await expect(worker.start()).rejects.toMatchObject(refusal);
    expect(worker.running).toBe(false);
    await expect(worker.runOnce()).rejects.toMatchObject(refusal);
    await expect(amends.migrate()).rejects.toMatchObject(refusal);
  });

  it("[K-21][C-07] a newer schema whose migrations are not breaking is no obstacle: old workers go on during a deploy", async () => {
    const db = await database.open();
    await later(db, false);
    const amends = await database.amends({ sagas: [one], database: db });
    expect(await amends.migrate()).toEqual([]);
    await database.worker(amends);
    expect(await (await amends.start(one, {})).result()).toMatchObject({ status: "COMPLETED" });
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
    await db.query(sql`delete from ${db.dialect.table("migrations")}`);
    await refused(() => amends.worker().start());
  });

  it("[K-21] a migration that fails half-way leaves nothing of itself, nor of those before it", async () => {
    const db = await database.open({ migrated: false });
    const { dialect } = db;
    const broken: readonly Migration[] = [
      ...GROWN,
      { id: 4, name: "broken", statements: () => [`drop table ${nameOf(dialect, "pets")}`, "no statement"] },
    ];
    await expect(migrate(db, {}, broken)).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
    expect(await db.query(sql`select id from ${dialect.table("migrations")}`)).toEqual([]);
    await expect(pets(db)).rejects.toThrow("pets");
    expect(await migrate(db, {}, GROWN)).toHaveLength(3);
    await expect(migrate(db, {}, broken)).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
    expect(await pets(db)).toEqual(["Rex", "Ada"]);
  });

  it("[K-21] where somebody else's table is in the way, nothing of the first schema is made", async () => {
    const db = await database.open({ migrated: false });
    const { dialect } = db;
    if (dialect.name === "postgres") await db.query(sql`create schema amends`);
    await db.query(sql`create table ${dialect.table("outbox")} (id integer)`);
    await expect(migrate(db)).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
    expect(await db.query(sql`select id from ${dialect.table("migrations")}`)).toEqual([]);
    await expect(db.query(sql`select id from ${dialect.table("saga_executions")}`)).rejects.toThrow(
      "saga_executions",
    );
    await db.query(sql`drop table ${dialect.table("outbox")}`);
    expect(await migrate(db)).toEqual(["initial"]);
  });
});

onDatabase("postgres", (database) => {
  it("[K-21] a login that may create nothing migrates while nothing is due, and is refused while something is", async () => {
    const reader = await loginAs(database, ["reader"]);
    expect(await migrate(reader)).toEqual([]);
    const db = await database.open();
    await db.query(sql`delete from ${db.dialect.table("migrations")}`);
    await expect(migrate(reader)).rejects.toMatchObject({ code: "DATABASE_FORBIDDEN" });
    await reader.close();
  });
});
