/**
 * Drizzle on PostgreSQL, over node-postgres, postgres.js or another of its drivers: `postgres({ url, joins: drizzle(db) })`.
 * `tx` is the transaction of `db.transaction(async (tx) => …)`.
 */
import { sql } from "drizzle-orm";
import { AmendsError } from "./core/errors.ts";
import type { Row } from "./storage/database.ts";
import type { CarriedStatement, Joins, SqliteJoins } from "./storage/joins/joins.ts";
import { notTransaction } from "./storage/joins/root-handle.ts";
import type { SqliteHandle } from "./storage/sqlite/driver.ts";

/** A database of Drizzle, as far as Amends uses it: what `drizzle(…)` of its PostgreSQL drivers returns. */
export interface DrizzleDatabase<Tx> {
  /** Runs work in a transaction. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** What Drizzle's transactions have at run time. */
interface Transaction {
  execute(query: ReturnType<typeof sql>): PromiseLike<unknown>;
  rollback?: unknown;
  /** One object for all transactions of a database. */
  readonly dialect?: object;
  readonly session?: { readonly client?: { getTransactionStatus?(): string | null } };
}

const LINE = "db.transaction((tx) => amends.start(saga, input, { id, tx }))";

/** Joins transactions of Drizzle. The steps' transactions are opened on `db`. */
export function drizzle<Tx>(db: DrizzleDatabase<Tx>): Joins<Tx> {
  return {
    dialect: "postgres",
    client: "drizzle",
    check(tx) {
      const { execute, rollback, session } = (tx ?? {}) as Partial<Transaction>;
      // Only a transaction can be rolled back.
      if (typeof execute !== "function" || typeof rollback !== "function") throw refusal();
      const status = session?.client?.getTransactionStatus?.();
      if (status === "I") throw refusal();
      return typeof status === "string";
    },
    async query(tx, { strings, values }: CarriedStatement) {
      const template = Object.assign([...strings], { raw: strings });
      const answer = await (tx as Transaction).execute(sql(template, ...values));
      return rowsIn(answer);
    },
    transaction: (work) => db.transaction(work),
    origin: (tx) => (tx as Transaction).dialect,
  };
}

/** A database of Drizzle over better-sqlite3 or another synchronous SQLite library, as far as Amends uses it. */
export interface DrizzleSqliteDatabase<Tx> {
  /** The handle that Drizzle writes through. */
  readonly $client: SqliteHandle;
  /** Runs work in a synchronous transaction. */
  transaction(work: (tx: Tx) => undefined): unknown;
}

const SYNC_LINE = "db.transaction((tx) => amends.sync.start(saga, input, { id, tx }))";

/**
 * Joins the synchronous transactions of Drizzle on SQLite, for `amends.sync`: `sqlite(handle, { joins: drizzleSqlite(db) })`, with a
 * handle of the library that Drizzle uses.
 */
export function drizzleSqlite<Tx>(db: DrizzleSqliteDatabase<Tx>): SqliteJoins<Tx> {
  return {
    dialect: "sqlite",
    client: "drizzle",
    handleOf(tx) {
      const { rollback, session } = (tx ?? {}) as { rollback?: unknown; session?: { client?: unknown } };
      if (typeof rollback !== "function") throw notTransaction("drizzle", SYNC_LINE);
      if (session?.client === undefined || session.client === db.$client) return db.$client;
      throw new AmendsError(
        "BAD_OPTION",
        "The drizzle transaction given as `tx` is of another database than the one in `joins`. Nothing was written.",
      );
    },
  };
}

/** node-postgres returns a result with rows, postgres.js the rows themselves. */
function rowsIn(answer: unknown): readonly Row[] {
  return (Array.isArray(answer) ? answer : (answer as { rows: unknown }).rows) as Row[];
}

function refusal(): Error {
  return notTransaction("drizzle", LINE);
}

export type { CarriedStatement, Joins, SqliteHandle, SqliteJoins };
