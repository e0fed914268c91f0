/**
 * Migrations are ordered, named and checksummed, and all that are missing run in one transaction: safe to run
 * twice, and from several processes at once. A database that is newer than this code is refused, not guessed at.
 */
import { createHash } from "node:crypto";
import { AmendsError } from "../../core/errors.ts";
import type { Database, Dialect, Row, Session } from "../database.ts";
import { persist } from "../retry.ts";
import { raw, sql } from "../sql.ts";
import { sagas } from "./0001-sagas.ts";
import { outbox } from "./0002-outbox.ts";
import { audit } from "./0003-audit.ts";
import { erasure } from "./0004-erasure.ts";
import { events } from "./0005-events.ts";
import { webhooks } from "./0006-webhooks.ts";
import { console } from "./0007-console.ts";
import { signals } from "./0008-signals.ts";
import { archive } from "./0009-archive.ts";
import { traces } from "./0010-traces.ts";
import { words } from "./ddl.ts";
import { grantRoles } from "./webhook-roles.ts";

interface Migration {
  readonly id: number;
  readonly name: string;
  statements(dialect: Dialect): string[];
}

const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: "sagas", statements: sagas },
  { id: 2, name: "outbox", statements: outbox },
  { id: 3, name: "audit", statements: audit },
  { id: 4, name: "erasure", statements: erasure },
  { id: 5, name: "events", statements: events },
  { id: 6, name: "webhooks", statements: webhooks },
  { id: 7, name: "console", statements: console },
  { id: 8, name: "signals", statements: signals },
  { id: 9, name: "archive", statements: archive },
  { id: 10, name: "traces", statements: traces },
];

const NEWEST = Math.max(...MIGRATIONS.map(({ id }) => id));

/** Two processes that create the same schema at once: one of them is told that it exists already. */
const RACED = new Set(["23505", "42P06", "42P07", "42710"]);

export interface MigrateOptions {
  /** Creates roles with the rights that each part of webhook delivery needs. PostgreSQL only; who migrates must be allowed to. */
  readonly roles?: boolean;
}

/** Brings the database up to date. Returns the names of what was applied now. */
export async function migrate(
  db: Database,
  { roles = false }: MigrateOptions = {},
): Promise<readonly string[]> {
  await persist(db, () => db.open());
  await persist(db, () => prepare(db));
  const applied = await persist(db, () => db.transaction((session) => apply(session)));
  if (roles) await persist(db, () => db.transaction((session) => grantRoles(session)));
  return applied;
}

async function prepare(db: Database): Promise<void> {
  const { dialect } = db;
  const table = dialect.table("migrations").text;
  const { instant } = words(dialect);
  const make = async (text: string): Promise<void> => {
    await db.query(raw(text)).catch((error: unknown) => {
      if (!RACED.has(String((error as { code?: unknown }).code))) throw error;
    });
  };
  if (dialect.name === "postgres") await make(`create schema if not exists ${table.split(".")[0] as string}`);
  await make(
    `create table if not exists ${table} (id integer primary key, name text not null, checksum text not null, applied_at ${instant} not null)`,
  );
}

async function apply(session: Session): Promise<readonly string[]> {
  const { dialect } = session;
  const table = dialect.table("migrations");
  if (dialect.name === "postgres") await session.query(sql`lock table ${table} in exclusive mode`);
  const applied = await session.query(sql`select id, name, checksum from ${table} order by id`);
  refuseNewer(applied);
  const names: string[] = [];
  for (const migration of MIGRATIONS) {
    const statements = migration.statements(dialect);
    const checksum = createHash("sha256").update(statements.join(";\n")).digest("hex").slice(0, 32);
    const before = applied.find((row) => row["id"] === migration.id);
    if (before) {
      refuseChanged(before, migration, checksum);
      continue;
    }
    for (const statement of statements) await session.query(raw(statement));
    await session.query(
      sql`insert into ${table} (id, name, checksum, applied_at) values (${migration.id}, ${migration.name}, ${checksum}, ${dialect.now()})`,
    );
    names.push(migration.name);
  }
  return names;
}

/** What all migrations execute, in their order: what there must be in a database that is up to date. */
export function allStatements(dialect: Dialect): readonly string[] {
  return MIGRATIONS.flatMap((migration) => migration.statements(dialect));
}

export interface MissingMigration {
  readonly name: string;
  readonly statements: readonly string[];
}

/** What was applied, and what would be, with its SQL. Changes nothing. */
export async function readMigrations(
  db: Database,
): Promise<{ readonly applied: readonly string[]; readonly missing: readonly MissingMigration[] }> {
  await persist(db, () => db.open());
  const { dialect } = db;
  const applied = await persist(db, () =>
    db.query(sql`select id, name from ${dialect.table("migrations")} order by id`),
  ).catch((error: unknown): readonly Row[] => {
    if (error instanceof AmendsError && error.code === "SCHEMA_MISSING") return [];
    throw error;
  });
  refuseNewer(applied);
  const missing = MIGRATIONS.filter(({ id }) => applied.every((row) => row["id"] !== id));
  return {
    applied: applied.map((row) => row["name"] as string),
    missing: missing.map((one) => ({ name: one.name, statements: one.statements(dialect) })),
  };
}

/** Refuses to work on a database that this code does not fit. */
export async function checkSchema(db: Database): Promise<void> {
  await persist(db, () => db.open());
  const table = db.dialect.table("migrations");
  const applied = await persist(db, () => db.query(sql`select id, name from ${table} order by id`));
  refuseNewer(applied);
  if (MIGRATIONS.some(({ id }) => applied.every((row) => row["id"] !== id))) {
    throw new AmendsError(
      "SCHEMA_MISSING",
      "Amends' tables are older than this version. Run `await amends.migrate()`.",
    );
  }
}

function refuseNewer(applied: readonly Row[]): void {
  const newest = Math.max(0, ...applied.map((row) => Number(row["id"])));
  if (newest <= NEWEST) return;
  throw new AmendsError(
    "SCHEMA_TOO_NEW",
    `The database has Amends' schema ${newest}, this version knows ${NEWEST}. Update the amends package here before it works on this database.`,
    { found: newest, known: NEWEST },
  );
}

function refuseChanged(before: Row, migration: Migration, checksum: string): void {
  if (before["checksum"] === checksum && before["name"] === migration.name) return;
  throw new AmendsError(
    "MIGRATION_CHANGED",
    `Migration ${migration.id} (${migration.name}) differs from what was applied to this database. It was changed after it ran, or another program uses the same tables.`,
    { id: migration.id },
  );
}
