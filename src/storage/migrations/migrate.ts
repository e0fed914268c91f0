/**
 * Migrations are ordered, named and checksummed. All that are missing run in one transaction, and then the indexes that
 * need none: safe to run twice, and from several processes at once. A database with a breaking migration that this code
 * does not know is refused; any other newer one is not, so that old workers go on during a deploy.
 */
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { Database, Session } from "../database.ts";
import { grantRole } from "../postgres/rights/grants.ts";
import { roleName } from "../postgres/rights/rights.ts";
import { persist } from "../retry.ts";
import { raw, sql } from "../sql.ts";
import { rolesOf } from "./application-rights.ts";
import {
  APPLIED,
  bookkeeping,
  insertApplied,
  missingOf,
  neededOf,
  refuseBreaking,
  refuseChanged,
  selectApplied,
  type Applied,
} from "./applied.ts";
import { buildIndexes } from "./build-indexes.ts";
import { isConcurrent, MIGRATIONS, statementsOf, type Migration } from "./migration.ts";
import { RETENTION_ROLE, WEBHOOK_ROLES } from "./webhook-roles.ts";

/** If two processes create the same schema at once, one of them gets a duplicate error. */
const RACED = new Set(["23505", "42P06", "42P07", "42710"]);

/** The options of `migrate`. */
export interface MigrateOptions {
  /**
   * Creates roles with the rights that each part of webhook delivery, and retention, need. PostgreSQL only; the login that
   * migrates must be allowed to create roles. Default: false.
   */
  readonly roles?: boolean;
  /**
   * Grants the rights of each kind of process to a role, which is created without login if it does not exist: `app`
   * starts, publishes and steers, `worker` runs everything, `console` serves pages and operators, `retention` removes. One
   * role may be named several times. PostgreSQL only. Default: none.
   */
  readonly grants?: {
    /** The role of processes that start, publish, enqueue, subscribe, erase and steer. */
    readonly app?: string;
    /** The role of workers of every part but retention. */
    readonly worker?: string;
    /** The role of the console, and of operators. */
    readonly console?: string;
    /** The role of processes that remove what is over. */
    readonly retention?: string;
  };
}

/** Applies the migrations that the database lacks, and returns their names. */
export async function migrate(
  db: Database,
  options: MigrateOptions = {},
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<readonly string[]> {
  refuseUnknown(options, ["roles", "grants"], "migrate");
  const { roles = false, grants = {} } = options;
  const granted = rolesOf(grants);
  await persist(db, () => db.open());
  const missing = await persist(db, () => readMissing(db, migrations));
  const applied: string[] = [];
  if (missing.some((migration) => !isConcurrent(migration, db.dialect))) {
    await persist(db, () => prepare(db));
    applied.push(...(await persist(db, () => db.transaction((session) => apply(session, migrations)))));
  }
  for (const migration of missing) {
    if (!isConcurrent(migration, db.dialect)) continue;
    await persist(db, () => buildIndexes(db, migration));
    applied.push(migration.name);
  }
  if (roles || granted.length > 0)
    await persist(db, () => db.transaction((session) => grantRoles(session, roles, granted)));
  return applied;
}

async function grantRoles(
  session: Session,
  roles: boolean,
  granted: ReturnType<typeof rolesOf>,
): Promise<void> {
  const { dialect } = session;
  // Concurrent grants on one table would fail, so they are serialized.
  if (dialect.name === "postgres")
    await session.query(sql`lock table ${APPLIED.of(dialect)} in exclusive mode`);
  if (roles) {
    for (const role of [...WEBHOOK_ROLES, RETENTION_ROLE])
      await grantRole(session, roleName(dialect, role), role.grants);
  }
  for (const { name, grants } of granted) await grantRole(session, name, grants);
}

/** Reads only, so that a login without the right to create anything may migrate at each start. */
async function readMissing(db: Database, migrations: readonly Migration[]): Promise<readonly Migration[]> {
  const { dialect } = db;
  let applied: readonly Applied[];
  try {
    applied = (await db.query(selectApplied(dialect))).map((row) => APPLIED.read(row));
  } catch (error) {
    if (dialect.trouble(error).code === "SCHEMA_MISSING") return migrations;
    throw error;
  }
  refuseBreaking(applied, migrations);
  refuseChanged(dialect, applied, migrations);
  return missingOf(applied, migrations);
}

async function prepare(db: Database): Promise<void> {
  for (const statement of bookkeeping(db.dialect)) {
    await db.query(raw(statement)).catch((error: unknown) => {
      if (!RACED.has(String((error as { code?: unknown }).code))) throw error;
    });
  }
}

async function apply(session: Session, migrations: readonly Migration[]): Promise<readonly string[]> {
  const { dialect } = session;
  if (dialect.name === "postgres")
    await session.query(sql`lock table ${APPLIED.of(dialect)} in exclusive mode`);
  const applied = (await session.query(selectApplied(dialect))).map((row) => APPLIED.read(row));
  refuseBreaking(applied, migrations);
  refuseChanged(dialect, applied, migrations);
  const names: string[] = [];
  for (const migration of neededOf(dialect, applied, migrations)) {
    for (const statement of statementsOf(migration, dialect)) await session.query(raw(statement));
    await session.query(insertApplied(dialect, migration, dialect.now()));
    names.push(migration.name);
  }
  return names;
}

async function readApplied(db: Database): Promise<readonly Applied[]> {
  await persist(db, () => db.open());
  const rows = await persist(db, () => db.query(selectApplied(db.dialect)));
  return rows.map((row) => APPLIED.read(row));
}

export interface MissingMigration {
  readonly name: string;
  /** False for indexes: without them statements are slower, and nothing else. */
  readonly isNeeded: boolean;
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
  refuseBreaking(applied, migrations);
  return {
    applied: applied.map(({ name }) => name),
    missing: missingOf(applied, migrations).map((one) => ({
      name: one.name,
      isNeeded: !isConcurrent(one, db.dialect),
      statements: statementsOf(one, db.dialect),
    })),
  };
}

/** Throws if the database's schema does not match this code. */
export async function checkSchema(
  db: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const applied = await readApplied(db);
  refuseBreaking(applied, migrations);
  if (neededOf(db.dialect, applied, migrations).length === 0) return;
  throw new AmendsError(
    "SCHEMA_MISSING",
    "Amends' tables are older than this version. Run `await amends.migrate()`.",
  );
}
