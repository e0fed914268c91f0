/** SQLite: the embedded default. `sqlite("shop.db")`, `sqlite(":memory:")`, or a handle that you have open. */
import { AmendsError } from "./core/errors.ts";
import { refuseUnknown } from "./core/options.ts";
import type { TransactionKind } from "./sagas/define/transaction-kind.ts";
import { systemClock, type Clock } from "./storage/clock.ts";
import type { InTransaction, SyncOperations } from "./operate/sync-operations.ts";
import type { Database } from "./storage/database.ts";
import type { SqliteJoins } from "./storage/joins/joins.ts";
import { SqliteDatabase } from "./storage/sqlite/connection.ts";
import { sqliteDialect } from "./storage/sqlite/dialect.ts";
import { openSqlite as open, type SqliteHandle, type SqliteStatement } from "./storage/sqlite/driver.ts";

/** The settings of `sqlite`. */
export interface SqliteSettings<Tx = SqliteHandle> {
  /** The prefix of Amends' tables: up to 40 letters, digits and underscores. Default: "amends_". */
  readonly prefix?: string;
  /** The client of your own transactions, such as `drizzleSqlite(db)`: what is passed as `tx`. Default: handles. */
  readonly joins?: SqliteJoins<Tx>;
  /** For tests: a virtual clock from `amends/testing`. */
  readonly clock?: Clock;
}

/**
 * Makes a SQLite database for `new Amends` from a file, `":memory:"`, or an open handle of node:sqlite or
 * better-sqlite3.
 */
export function sqlite<Tx>(
  path: string | SqliteHandle,
  settings: SqliteSettings<Tx> & { readonly joins: SqliteJoins<Tx> },
): Database<Tx>;
export function sqlite(path: string | SqliteHandle, settings?: SqliteSettings): Database<SqliteHandle>;
export function sqlite<Tx>(path: string | SqliteHandle, settings: SqliteSettings<Tx> = {}): Database<Tx> {
  refuseUnknown(settings, ["prefix", "joins", "clock"], "sqlite");
  const { prefix = "amends_", joins, clock = systemClock } = settings;
  if (joins !== undefined && typeof (joins as Partial<SqliteJoins<Tx>>).handleOf !== "function") {
    throw new AmendsError(
      "BAD_OPTION",
      "`joins` of `sqlite` takes what `drizzleSqlite(db)` of amends/drizzle makes. Other clients are for `postgres`.",
    );
  }
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(prefix)) {
    throw new AmendsError("BAD_OPTION", "A prefix of tables is up to 40 letters, digits and underscores.");
  }
  return new SqliteDatabase<Tx>({ path, dialect: sqliteDialect(prefix, clock), clock, joins });
}

/**
 * Opens a handle of your own with the same SQLite that Amends uses. Two copies of SQLite in one process can lose data:
 * open yours with this one, or give yours to `sqlite`.
 */
export function openSqlite(path: string): SqliteHandle {
  return open(path);
}

/** For `.step(name, { transaction, … })`: the act receives the open SQLite handle as `tx`. */
export const transaction: TransactionKind<SqliteHandle> = { dialect: "sqlite" };

export type { Clock, Database, InTransaction, SqliteHandle, SqliteJoins, SqliteStatement, SyncOperations };
