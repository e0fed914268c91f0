/** Migrations through a tool of the user's: printed without a database, applied by it, and accepted as they are. */
import { spawnSync } from "node:child_process";
import { saga } from "amends";
import { postgres } from "amends/postgres";
import pg from "pg";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { checkSchema, migrate, readMigrations } from "../../src/storage/migrations/migrate.ts";
import { MIGRATIONS, type Migration } from "../../src/storage/migrations/migration.ts";
import { printMigrations } from "../../src/storage/migrations/print.ts";
import { openSqlite } from "../../src/storage/sqlite/driver.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { cli } from "../cli/support/cli.ts";
import { onDatabase, onEachDatabase, type TestDatabase } from "../support/databases.ts";

const one = saga("one", z.object({})).step("one", { act: () => 1 });

/** As psql does it: the whole script at once. */
async function applied(database: TestDatabase, script: string): Promise<void> {
  const place = await database.place();
  if (database.name === "sqlite") {
    const handle = openSqlite(place);
    handle.exec(script);
    handle.close();
    return;
  }
  const client = new pg.Client(place);
  await client.connect();
  try {
    await client.query(script);
  } finally {
    await client.end();
  }
}

/** What psql complains of. Without the program, the driver takes its place. */
async function byPsql(database: TestDatabase, script: string): Promise<string> {
  if (spawnSync("psql", ["--version"]).status !== 0) return applied(database, script).then(() => "");
  const args = ["--single-transaction", "-v", "ON_ERROR_STOP=1", "-q", "-f", "-", await database.place()];
  return spawnSync("psql", args, { input: script, encoding: "utf8" }).stderr;
}

/** Statement by statement, as psql sends a script outside of a transaction. */
async function appliedInTurn(database: TestDatabase, script: string): Promise<void> {
  const client = new pg.Client(await database.place());
  await client.connect();
  for (const statement of script.split(";\n")) await client.query(statement);
  await client.end();
}

const WITH_INDEX: readonly Migration[] = [
  ...MIGRATIONS,
  {
    id: 2,
    name: "owners",
    indexes: [{ name: "sagas_by_owner", table: "saga_executions", on: "(owner) where owner is not null" }],
  },
];

async function indexes(db: Database): Promise<readonly unknown[]> {
  return db.query(sql`select c.relname as name, i.indisvalid as valid from pg_index as i
    join pg_class as c on c.oid = i.indexrelid where c.relname = 'sagas_by_owner'`);
}

onEachDatabase((database) => {
  it("[C-07] the printed script makes everything that migrate makes, and is accepted as it is", async () => {
    const db = await database.open({ migrated: false });
    const { code, out } = await cli(["migrate", "--print", "--dialect", database.name]);
    expect(code).toBe(0);
    await applied(database, out);
    expect(await readMigrations(db)).toEqual({ applied: ["initial"], missing: [] });
    await checkSchema(db);
    expect(await migrate(db)).toEqual([]);
    const amends = await database.amends({ database: db, sagas: [one] });
    await database.worker(amends);
    expect(await (await amends.start(one, {})).result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[C-07] --from prints that migration and later ones, and what is printed in two parts is the whole", async () => {
    const db = await database.open({ migrated: false });
    const { dialect } = db;
    const grown: readonly Migration[] = [
      ...MIGRATIONS,
      { id: 2, name: "pets", statements: () => [`create table ${dialect.table("pets").text} (id integer)`] },
    ];
    await migrate(db);
    const later = printMigrations(dialect, { from: 2 }, grown);
    expect(later).not.toContain("saga_executions");
    await applied(database, later);
    await checkSchema(db, grown);
    expect(await migrate(db, {}, grown)).toEqual([]);
    expect(() => printMigrations(dialect, { from: 9 }, grown)).toThrow("--from must be");
  });

  it("[C-07] an index of a large table is a migration of its own: workers do not wait for it", async () => {
    const db = await database.open();
    if (db.dialect.name === "postgres") await checkSchema(db, WITH_INDEX);
    expect(await migrate(db, {}, WITH_INDEX)).toEqual(["owners"]);
    expect(await migrate(db, {}, WITH_INDEX)).toEqual([]);
    await checkSchema(db, WITH_INDEX);
  });
});

onDatabase("postgres", (database) => {
  it("[C-07] the program psql applies the printed script, where this machine has it", async () => {
    const db = await database.open({ migrated: false });
    expect(await byPsql(database, printMigrations(db.dialect))).toBe("");
    expect(await migrate(db)).toEqual([]);
  });

  it("[C-07] such indexes are printed separately, outside of a transaction, and may be applied twice", async () => {
    const db = await database.open();
    expect(printMigrations(db.dialect, {}, WITH_INDEX)).not.toContain("create index concurrently");
    expect(printMigrations(db.dialect, {}, WITH_INDEX)).toContain("--concurrent (migration 2)");
    const script = printMigrations(db.dialect, { concurrent: true }, WITH_INDEX);
    await appliedInTurn(database, script);
    await appliedInTurn(database, script);
    expect(await indexes(db)).toEqual([{ name: "sagas_by_owner", valid: true }]);
    expect(await migrate(db, {}, WITH_INDEX)).toEqual([]);
  });

  it("[C-07] a build that was interrupted is built again, and four processes at once build it once", async () => {
    const db = await database.open();
    await db.query(
      raw("create index sagas_by_owner on amends.saga_executions (owner) where owner is not null"),
    );
    await db.query(
      raw("update pg_index set indisvalid = false where indexrelid = 'amends.sagas_by_owner'::regclass"),
    );
    const handles = await Promise.all(Array.from({ length: 4 }, () => database.open()));
    await Promise.all(handles.map((handle) => migrate(handle, {}, WITH_INDEX)));
    expect(await indexes(db)).toEqual([{ name: "sagas_by_owner", valid: true }]);
    await checkSchema(db, WITH_INDEX);
  });

  it("[C-07] building an index stops no write of a transaction that began before", async () => {
    const db = await database.open();
    const other = new pg.Client(await database.place());
    await other.connect();
    await other.query("begin");
    await other.query("delete from amends.saga_executions");
    const building = migrate(db, {}, WITH_INDEX);
    const waiting = sql`select 1 from pg_stat_progress_create_index`;
    await vi.waitFor(async () => expect(await db.query(waiting)).toHaveLength(1));
    // A build that locked the table would make this wait, and this transaction is what it waits for.
    await other.query("delete from amends.saga_executions");
    await other.query("commit");
    await building;
    await other.end();
    expect(await indexes(db)).toEqual([{ name: "sagas_by_owner", valid: true }]);
  });

  it("[C-07] a pooler carries the migrations and the indexes, too", async () => {
    await database.open({ migrated: false });
    const db = postgres({ url: await database.place(), pooler: "transaction" });
    expect(await migrate(db, {}, WITH_INDEX)).toEqual(["initial", "owners"]);
    await db.close();
  });
});

it("[C-06][C-07] printing needs no database, and its options are checked", async () => {
  const { code, out } = await cli(["migrate", "--print-grants", "shop_app", "--for", "worker"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^grant usage on schema amends to shop_app;$/m);
  expect((await cli(["migrate", "--print-grants", "no such"])).code).not.toBe(0);
  expect((await cli(["migrate", "--from", "1"])).code).toBe(2);
  expect((await cli(["migrate", "--for", "app"])).code).toBe(2);
  expect((await cli(["migrate", "--print", "--print-grants", "x"])).code).toBe(2);
});
