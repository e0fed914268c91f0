/** The table of applied migrations, and what its rows mean for this version. */
import { AmendsError } from "../../core/errors.ts";
import { flag, int, text } from "../column.ts";
import type { Dialect } from "../database.ts";
import { raw, sql, type Sql } from "../sql.ts";
import { table, type Table } from "../table.ts";
import { ddlOf } from "./ddl.ts";
import { checksumOf, isConcurrent, type Migration } from "./migration.ts";

export interface Applied {
  readonly id: number;
  readonly name: string;
  readonly checksum: string;
  readonly isBreaking: boolean;
}

export const APPLIED: Table<Applied> = table("migrations", {
  id: int("id"),
  name: text("name"),
  checksum: text("checksum"),
  isBreaking: flag("breaking"),
});

/** Creates the schema, unless somebody who may has done so before, and the table. */
export function bookkeeping(dialect: Dialect): readonly string[] {
  const name = APPLIED.of(dialect).text;
  const schema = name.split(".")[0] as string;
  const { instant, bool: yesOrNo, no } = ddlOf(dialect);
  const create = `create table if not exists ${name} (id integer primary key, name text not null, checksum text not null, breaking ${yesOrNo} not null default ${no}, applied_at ${instant} not null)`;
  // CREATE SCHEMA IF NOT EXISTS needs the right to create one even if it exists.
  const make = `do $$ begin if to_regnamespace('${schema}') is null then create schema ${schema}; end if; end $$`;
  return dialect.pick({ postgres: [make, create], sqlite: [create] });
}

export function selectApplied(dialect: Dialect): Sql {
  return sql`select ${APPLIED.columns(dialect)} from ${APPLIED.of(dialect)} order by id`;
}

/** Literals only, because it is printed as well; names come from Amends. */
export function insertApplied(dialect: Dialect, migration: Migration, now: Sql): Sql {
  const { id, name, isBreaking = false } = migration;
  const breaking = dialect.pick({ postgres: String(isBreaking), sqlite: isBreaking ? "1" : "0" });
  const values = raw(`${id}, '${name}', '${checksumOf(migration, dialect)}', ${breaking}`);
  return sql`insert into ${APPLIED.of(dialect)} (id, name, checksum, breaking, applied_at) values (${values}, ${now}) on conflict (id) do nothing`;
}

export function missingOf(
  applied: readonly Applied[],
  migrations: readonly Migration[],
): readonly Migration[] {
  const known = new Set(applied.map(({ id }) => id));
  return migrations.filter(({ id }) => !known.has(id));
}

/** The missing migrations without which nothing works: an index that is still to be built only makes statements slower. */
export function neededOf(
  dialect: Dialect,
  applied: readonly Applied[],
  migrations: readonly Migration[],
): readonly Migration[] {
  return missingOf(applied, migrations).filter((migration) => !isConcurrent(migration, dialect));
}

/** Throws if the database has a migration that this version does not know and must know. */
export function refuseBreaking(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ id }) => id));
  const unknown = applied.find(({ id, isBreaking }) => isBreaking && !known.has(id));
  if (!unknown) return;
  const newest = Math.max(...known);
  throw new AmendsError(
    "SCHEMA_TOO_NEW",
    `The database has migration ${unknown.id} (${unknown.name}), which is marked breaking; this version knows migrations up to ${newest}. Update the amends package here before it works on this database.`,
    { found: unknown.id, known: newest },
  );
}

/** Throws if a migration was applied with other statements. */
export function refuseChanged(
  dialect: Dialect,
  applied: readonly Applied[],
  migrations: readonly Migration[],
): void {
  const byId = new Map(applied.map((one) => [one.id, one]));
  for (const migration of migrations) {
    const before = byId.get(migration.id);
    if (!before) continue;
    if (before.name === migration.name && before.checksum === checksumOf(migration, dialect)) continue;
    throw new AmendsError(
      "MIGRATION_CHANGED",
      `Migration ${migration.id} (${migration.name}) differs from what was applied to this database. It was changed after it ran, or another program uses the same tables.`,
      { id: migration.id },
    );
  }
}
