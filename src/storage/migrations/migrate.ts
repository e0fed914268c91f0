/**
 * Migrations are ordered, named and checksummed, and all that are missing run in one transaction: safe to run
 * twice, and from several processes at once. A database that is newer than this code is refused.
 */
import { createHash } from "node:crypto";
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import { int, text } from "../column.ts";
import type { Database, Dialect, Session } from "../database.ts";
import { grantRole } from "../postgres/rights.ts";
import { persist } from "../retry.ts";
import { raw, sql, type Sql } from "../sql.ts";
import { table, type RowOf } from "../table.ts";
import { initial } from "./0001-initial.ts";
import { ddlOf } from "./ddl.ts";
import { RETENTION_ROLE, WEBHOOK_ROLES } from "./webhook-roles.ts";

export interface Migration {
  readonly id: number;
  readonly name: string;
  statements(dialect: Dialect): string[];
}

/**
 * All migrations of this version, in order. A released migration never changes: its checksum is in every database.
 */
export const MIGRATIONS: readonly Migration[] = [{ id: 1, name: "initial", statements: initial }];

const MIGRATION = table("migrations", { id: int("id"), name: text("name"), checksum: text("checksum") });

type Applied = RowOf<typeof MIGRATION>;

/** If two processes create the same schema at once, one of them gets a duplicate error. */
const RACED = new Set(["23505", "42P06", "42P07", "42710"]);

/** The options of `migrate`. */
export interface MigrateOptions {
  /**
   * Creates roles with the rights that each part of webhook delivery, and retention, need. PostgreSQL only; the login that
   * migrates must be allowed to create roles. Default: false.
   */
  readonly roles?: boolean;
}

/** Applies the migrations that the database lacks, and returns their names. */
export async function migrate(
  db: Database,
  options: MigrateOptions = {},
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<readonly string[]> {
  refuseUnknown(options, ["roles"], "migrate");
  const { roles = false } = options;
  await persist(db, () => db.open());
  const isCurrent = await persist(db, () => hasAll(db, migrations));
  if (!isCurrent) await persist(db, () => prepare(db));
  const applied = isCurrent
    ? []
    : await persist(db, () => db.transaction((session) => apply(session, migrations)));
  if (roles) await persist(db, () => db.transaction((session) => grantRoles(session)));
  return applied;
}

async function grantRoles(session: Session): Promise<void> {
  const { dialect } = session;
  // Concurrent grants on one table would fail, so they are serialized.
  if (dialect.name === "postgres")
    await session.query(sql`lock table ${MIGRATION.of(dialect)} in exclusive mode`);
  for (const role of [...WEBHOOK_ROLES, RETENTION_ROLE]) await grantRole(session, role);
}

/** True if nothing is due. Reads only, so that a login without the right to create anything may migrate at each start. */
async function hasAll(db: Database, migrations: readonly Migration[]): Promise<boolean> {
  const { dialect } = db;
  let applied: readonly Applied[];
  try {
    applied = (await db.query(selectApplied(dialect))).map((row) => MIGRATION.read(row));
  } catch (error) {
    if (dialect.trouble(error).code === "SCHEMA_MISSING") return false;
    throw error;
  }
  refuseNewer(applied, migrations);
  return migrations.every((migration) => isApplied(dialect, migration, applied));
}

/** Throws if it was applied with other statements. */
function isApplied(dialect: Dialect, migration: Migration, applied: readonly Applied[]): boolean {
  const before = applied.find(({ id }) => id === migration.id);
  if (before) refuseChanged(before, migration, checksumOf(migration.statements(dialect)));
  return before !== undefined;
}

function checksumOf(statements: readonly string[]): string {
  return createHash("sha256").update(statements.join(";\n")).digest("hex").slice(0, 32);
}

async function prepare(db: Database): Promise<void> {
  const { dialect } = db;
  const name = MIGRATION.of(dialect).text;
  const { instant } = ddlOf(dialect);
  const make = async (statement: string): Promise<void> => {
    await db.query(raw(statement)).catch((error: unknown) => {
      if (!RACED.has(String((error as { code?: unknown }).code))) throw error;
    });
  };
  if (dialect.name === "postgres") await make(`create schema if not exists ${name.split(".")[0] as string}`);
  await make(
    `create table if not exists ${name} (id integer primary key, name text not null, checksum text not null, applied_at ${instant} not null)`,
  );
}

async function apply(session: Session, migrations: readonly Migration[]): Promise<readonly string[]> {
  const { dialect } = session;
  if (dialect.name === "postgres")
    await session.query(sql`lock table ${MIGRATION.of(dialect)} in exclusive mode`);
  const applied = (await session.query(selectApplied(dialect))).map((row) => MIGRATION.read(row));
  refuseNewer(applied, migrations);
  const names: string[] = [];
  for (const migration of migrations) {
    if (isApplied(dialect, migration, applied)) continue;
    const statements = migration.statements(dialect);
    const checksum = checksumOf(statements);
    for (const statement of statements) await session.query(raw(statement));
    await session.query(
      sql`insert into ${MIGRATION.of(dialect)} (id, name, checksum, applied_at) values (${migration.id}, ${migration.name}, ${checksum}, ${dialect.now()})`,
    );
    names.push(migration.name);
  }
  return names;
}

function selectApplied(dialect: Dialect): Sql {
  return sql`select ${MIGRATION.columns(dialect)} from ${MIGRATION.of(dialect)} order by id`;
}

async function readApplied(db: Database): Promise<readonly Applied[]> {
  await persist(db, () => db.open());
  const rows = await persist(db, () => db.query(selectApplied(db.dialect)));
  return rows.map((row) => MIGRATION.read(row));
}

/** The statements of all migrations in order: the schema of an up-to-date database. */
export function allStatements(dialect: Dialect): readonly string[] {
  return MIGRATIONS.flatMap((migration) => migration.statements(dialect));
}

export interface MissingMigration {
  readonly name: string;
  readonly statements: readonly string[];
}

/** The applied and the pending migrations with their SQL. Changes nothing. */
export async function readMigrations(
  db: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<{ readonly applied: readonly string[]; readonly missing: readonly MissingMigration[] }> {
  const applied = await readApplied(db).catch((error: unknown): readonly Applied[] => {
    if (error instanceof AmendsError && error.code === "SCHEMA_MISSING") return [];
    throw error;
  });
  refuseNewer(applied, migrations);
  return {
    applied: applied.map(({ name }) => name),
    missing: missingOf(applied, migrations).map((one) => ({
      name: one.name,
      statements: one.statements(db.dialect),
    })),
  };
}

/** Throws if the database's schema does not match this code. */
export async function checkSchema(
  db: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const applied = await readApplied(db);
  refuseNewer(applied, migrations);
  if (missingOf(applied, migrations).length === 0) return;
  throw new AmendsError(
    "SCHEMA_MISSING",
    "Amends' tables are older than this version. Run `await amends.migrate()`.",
  );
}

function missingOf(applied: readonly Applied[], migrations: readonly Migration[]): readonly Migration[] {
  const known = new Set(applied.map(({ id }) => id));
  return migrations.filter(({ id }) => !known.has(id));
}

function refuseNewer(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const known = Math.max(...migrations.map(({ id }) => id));
  const found = Math.max(0, ...applied.map(({ id }) => id));
  if (found <= known) return;
  throw new AmendsError(
    "SCHEMA_TOO_NEW",
    `The database has Amends' schema ${found}, this version knows ${known}. Update the amends package here before it works on this database.`,
    { found, known },
  );
}

function refuseChanged(before: Applied, migration: Migration, checksum: string): void {
  if (before.checksum === checksum && before.name === migration.name) return;
  throw new AmendsError(
    "MIGRATION_CHANGED",
    `Migration ${migration.id} (${migration.name}) differs from what was applied to this database. It was changed after it ran, or another program uses the same tables.`,
    { id: migration.id },
  );
}
